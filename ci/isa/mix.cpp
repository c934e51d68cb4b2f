#include "ci/isa/mix.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <map>
#include <utility>
#include <vector>

namespace mla::isa {
namespace {

bool is_global(std::string_view m) {
  return m.starts_with("global_") || m.starts_with("buffer_") || m.starts_with("flat_");
}

// gfx942 and gfx950 write to LDS either by name (global_load_lds_dwordx4) or by a modifier (buffer_load_dword ... lds).
bool lands_in_lds(const Instruction& i) {
  return i.mnemonic.find("_load_lds_") != std::string::npos || i.operands.ends_with(" lds");
}

Kind scalar_kind(std::string_view m) {
  if (m.starts_with("s_waitcnt") || m.starts_with("s_wait_")) return Kind::wait;
  if (m.starts_with("s_barrier")) return Kind::barrier;
  if (m.starts_with("s_cbranch") || m == "s_branch" || m == "s_endpgm" || m.starts_with("s_setpc")) return Kind::branch;
  if (m == "s_nop" || m == "s_sleep") return Kind::nop;
  return Kind::salu;
}

// Bytes a lane of a global load, by the size in its name. The longest names come first: "dword" begins "dwordx4".
int load_bytes(std::string_view m) {
  if (m.find("_load_") == std::string_view::npos) return 0;
  constexpr std::array<std::pair<std::string_view, int>, 6> kSizes{
      {{"dwordx4", 16}, {"dwordx3", 12}, {"dwordx2", 8}, {"dword", 4}, {"short", 2}, {"byte", 1}}};
  for (const auto& [name, bytes] : kSizes) {
    if (m.find(name) != std::string_view::npos) return bytes;
  }
  return 0;
}

bool takes(std::string_view& text, char c) {
  if (!text.starts_with(c)) return false;
  text.remove_prefix(1);
  return true;
}

bool takes_number(std::string_view& text, std::int64_t& value) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{}) return false;
  text.remove_prefix(static_cast<std::size_t>(end - text.data()));
  return true;
}

struct Range {
  std::size_t first = 0;  // index of the header
  std::size_t last = 0;   // index of the last branch back to it
};

std::vector<Range> loops(const Code& code) {
  const auto& all = code.instructions;
  std::map<std::size_t, std::size_t> last_of;  // header -> last branch back
  for (std::size_t at = 0; at < all.size(); ++at) {
    if (!all[at].target || *all[at].target > all[at].address) continue;
    const auto header = std::ranges::lower_bound(all, *all[at].target, {}, &Instruction::address);
    last_of[static_cast<std::size_t>(header - all.begin())] = at;
  }
  std::vector<Range> result;
  for (const auto& [first, last] : last_of) result.push_back({first, last});
  return result;
}

std::span<const Instruction> instructions_of(const Code& code, const Range& range) {
  return std::span(code.instructions).subspan(range.first, range.last - range.first + 1);
}

bool is_inside(const Range& inner, const Range& outer) {
  return inner.first >= outer.first && inner.last <= outer.last &&
         (inner.first != outer.first || inner.last != outer.last);
}

}  // namespace

Kind kind_of(const Instruction& instruction) {
  const std::string_view m = instruction.mnemonic;
  if (m.starts_with("v_mfma_") || m.starts_with("v_smfmac_")) return Kind::matrix;
  if (m.starts_with("v_accvgpr_")) return Kind::accumulator_move;
  if (m.starts_with("v_nop")) return Kind::nop;
  if (m.starts_with("v_")) return Kind::valu;
  if (m.starts_with("ds_")) return Kind::lds;
  if (m.starts_with("scratch_")) return Kind::scratch;
  if (is_global(m)) return lands_in_lds(instruction) ? Kind::global_to_lds : Kind::global;
  return scalar_kind(m);
}

std::int64_t matrix_flops(std::string_view mnemonic) {
  // v_mfma_f32_16x16x32_bf16, v_mfma_f32_4x4x4_16b_bf16 (16 blocks), v_mfma_scale_f32_16x16x128_f8f6f4
  for (std::size_t at = mnemonic.find('_'); at != std::string_view::npos; at = mnemonic.find('_', at + 1)) {
    std::string_view rest = mnemonic.substr(at + 1);
    std::int64_t m = 0;
    std::int64_t n = 0;
    std::int64_t k = 0;
    const bool is_shape =
        takes_number(rest, m) && takes(rest, 'x') && takes_number(rest, n) && takes(rest, 'x') && takes_number(rest, k);
    if (!is_shape) continue;
    std::int64_t blocks = 1;
    const bool has_blocks = takes(rest, '_') && takes_number(rest, blocks) && rest.starts_with("b_");
    return 2 * m * n * k * (has_blocks ? blocks : 1);
  }
  return 0;
}

Mix mix_of(std::span<const Instruction> instructions, int wavefront_size) {
  Mix mix;
  for (const Instruction& i : instructions) {
    ++mix.total;
    switch (kind_of(i)) {
      case Kind::matrix: ++mix.matrix, mix.matrix_flops += matrix_flops(i.mnemonic); break;
      case Kind::lds: ++mix.lds; break;
      case Kind::global: ++mix.global, mix.global_load_bytes += load_bytes(i.mnemonic) * wavefront_size; break;
      case Kind::global_to_lds:
        ++mix.global_to_lds, mix.global_load_bytes += load_bytes(i.mnemonic) * wavefront_size;
        break;
      case Kind::scratch: ++mix.scratch; break;
      case Kind::wait: ++mix.wait; break;
      case Kind::barrier: ++mix.barrier; break;
      case Kind::valu: ++mix.valu; break;
      case Kind::accumulator_move: ++mix.accumulator_move; break;
      case Kind::salu: ++mix.salu; break;
      case Kind::branch: ++mix.branch; break;
      case Kind::nop: ++mix.nop; break;
    }
  }
  return mix;
}

std::optional<std::span<const Instruction>> hot_loop(const Code& code) {
  const std::vector<Range> all = loops(code);
  const bool has_matrix = mix_of(code.instructions, 1).matrix > 0;
  // Loops are compared by the work that the kernel is there for: matrix products, or moving memory if it has none.
  const auto work = [&](const Range& range) {
    const Mix mix = mix_of(instructions_of(code, range), 1);
    return has_matrix ? mix.matrix : mix.global + mix.global_to_lds + mix.lds;
  };
  const auto holds_hotter = [&](const Range& outer) {
    return std::ranges::any_of(all, [&](const Range& inner) { return is_inside(inner, outer) && work(inner) > 0; });
  };
  const auto heat = [&](const Range& range) { return std::pair(work(range), range.last - range.first); };
  std::optional<Range> hottest;
  for (const Range& range : all) {
    if (holds_hotter(range)) continue;
    if (!hottest || heat(range) > heat(*hottest)) hottest = range;
  }
  if (!hottest) return std::nullopt;
  return instructions_of(code, *hottest);
}

}  // namespace mla::isa
