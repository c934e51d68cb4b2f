#include "ci/isa/notes.hpp"

#include <fmt/format.h>

#include <charconv>
#include <map>

#include "ci/isa/text.hpp"

namespace mla::isa {
namespace {

using Fields = std::map<std::string, std::string, std::less<>>;

// The printed YAML puts a kernel's own keys four columns in, the first behind "  - "; arguments are nested deeper.
constexpr std::string_view kListItem = "  - .";
constexpr std::string_view kKey = "    .";

std::vector<Fields> kernel_fields(std::string_view text) {
  std::vector<Fields> kernels;
  bool inside = false;
  for (std::string_view line : lines(text)) {
    if (line == "amdhsa.kernels:") {
      inside = true;
    } else if (!line.starts_with(' ')) {
      inside = false;
    } else if (inside && (line.starts_with(kListItem) || line.starts_with(kKey))) {
      if (line.starts_with(kListItem)) kernels.emplace_back();
      const auto [key, value] = split_once(line.substr(kKey.size()), ':');
      kernels.back().insert_or_assign(std::string(key), std::string(trim(value)));
    }
  }
  return kernels;
}

const std::string& field(const Fields& fields, std::string_view key) {
  const auto found = fields.find(key);
  if (found == fields.end()) throw Error(fmt::format("notes: a kernel has no '.{}'", key));
  return found->second;
}

int number(const Fields& fields, std::string_view key) {
  const std::string& text = field(fields, key);
  int value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size()) {
    throw Error(fmt::format("notes: '.{}' is '{}', not a number", key, text));
  }
  return value;
}

Resources resources(const Fields& fields) {
  Resources r;
  r.symbol = field(fields, "name");
  r.agpr = number(fields, "agpr_count");
  // The printed count is the whole allocation: vector registers, then accumulation registers behind them.
  r.vgpr = number(fields, "vgpr_count") - r.agpr;
  r.sgpr = number(fields, "sgpr_count");
  r.lds_bytes = number(fields, "group_segment_fixed_size");
  r.scratch_bytes = number(fields, "private_segment_fixed_size");
  r.vgpr_spills = number(fields, "vgpr_spill_count");
  r.sgpr_spills = number(fields, "sgpr_spill_count");
  r.workgroup_size = number(fields, "max_flat_workgroup_size");
  r.wavefront_size = number(fields, "wavefront_size");
  r.dynamic_stack = field(fields, "uses_dynamic_stack") == "true";
  return r;
}

std::string target_name(std::string_view text) {
  for (std::string_view line : lines(text)) {
    if (!line.starts_with("amdhsa.target:")) continue;
    const std::string_view triple = line.substr(line.rfind('-') + 1);
    return std::string(split_once(triple, ':').first);  // features such as ":sramecc+" follow the name
  }
  throw Error("notes: no 'amdhsa.target'; is this the output of llvm-readelf --notes on an AMD GPU code object?");
}

}  // namespace

Notes parse_notes(std::string_view text) {
  Notes notes;
  notes.target = target_name(text);
  for (const Fields& fields : kernel_fields(text)) notes.kernels.push_back(resources(fields));
  return notes;
}

}  // namespace mla::isa
