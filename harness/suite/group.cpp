#include "harness/suite/group.hpp"

#include <algorithm>
#include <optional>
#include <set>
#include <vector>

#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include "harness/suite/pairwise.hpp"

namespace mla::harness {

namespace {

// One axis: in each position it sets one field, or all fields of a zip.
struct Axis {
  std::vector<std::string> fields;
  std::vector<std::vector<std::string>> positions;
};

std::vector<std::string> read_values(const JsonNode& list) {
  std::vector<std::string> values;
  for (const JsonNode& item : list.items()) values.push_back(field_text(item));
  return values;
}

void require_distinct(const Axis& axis, const JsonNode& node) {
  std::set<std::vector<std::string>> seen;
  for (const auto& position : axis.positions) {
    if (!seen.insert(position).second) {
      throw UsageError(node.place(), fmt::format("{}", fmt::join(position, ", ")), "the value is listed twice");
    }
  }
}

Axis read_axis(const std::string& field, const JsonNode& list) {
  Axis axis{{field}, {}};
  for (std::string& value : read_values(list)) axis.positions.push_back({std::move(value)});
  require_distinct(axis, list);
  return axis;
}

Axis read_zip(const JsonNode& zip) {
  Axis axis;
  for (const auto& [field, list] : zip.members()) {
    const std::vector<std::string> values = read_values(list);
    if (axis.fields.empty()) axis.positions.resize(values.size());
    if (values.size() != axis.positions.size()) {
      list.fail(fmt::format("{} values are needed, as many as the first list of the zip", axis.positions.size()));
    }
    axis.fields.push_back(field);
    for (std::size_t i = 0; i < values.size(); ++i) axis.positions[i].push_back(values[i]);
  }
  if (axis.fields.empty()) zip.fail("at least one field is needed");
  require_distinct(axis, zip);
  return axis;
}

std::vector<Axis> read_axes(const JsonNode& group) {
  std::vector<Axis> axes;
  if (const auto zip = group.find("zip")) axes.push_back(read_zip(*zip));
  if (const auto lists = group.find("axes")) {
    if (lists->members().empty()) lists->fail("at least one field is needed");
    for (const auto& [field, list] : lists->members()) axes.push_back(read_axis(field, list));
  }
  if (axes.empty()) group.fail("axes or zip is needed");
  return axes;
}

// Refuses a grid from its sizes alone, before anything of that size exists.
void require_room(const JsonNode& group, const std::vector<std::size_t>& sizes, bool pairwise, std::size_t max_cases) {
  std::size_t product = 1;
  std::size_t pairs = 0;
  std::size_t values = 0;
  for (const std::size_t size : sizes) {
    pairs += values * size;
    values += size;
    product = product > max_cases ? product : product * size;  // sizes are below 2^26: no overflow
  }
  const std::size_t cost = pairwise ? pairs : product;
  if (cost <= max_cases) return;
  group.fail(fmt::format("its axes make more {} than the {} still allowed in this suite",
                         pairwise ? "pairs of values" : "cases", max_cases));
}

// Long lists would make names that nobody can read or filter by: the value's position stands for them.
std::string label_of(const Axis& axis, std::size_t position) {
  constexpr std::size_t kLongest = 24;
  std::string label;
  for (std::size_t i = 0; i < axis.fields.size(); ++i) {
    const std::string& value = axis.positions[position][i];
    label += label.empty() ? "" : ",";
    label += value.size() <= kLongest ? fmt::format("{}={}", axis.fields[i], value)
                                      : fmt::format("{}={}th", axis.fields[i], position);
  }
  return label;
}

class Grid {
 public:
  Grid(const JsonNode& group, ProblemFields base, std::vector<Axis> axes)
      : group_(group), base_(std::move(base)), axes_(std::move(axes)) {
    if (const auto limit = group.find("max_total_kv")) max_total_kv_ = limit->integer(1, std::int64_t{1} << 40);
  }

  [[nodiscard]] std::vector<std::size_t> sizes() const {
    std::vector<std::size_t> sizes;
    for (const Axis& axis : axes_) sizes.push_back(axis.positions.size());
    return sizes;
  }

  [[nodiscard]] Problem problem(const AxisRow& row) const {
    try {
      ProblemFields fields = base_;
      for (std::size_t a = 0; a < axes_.size(); ++a) {
        for (std::size_t i = 0; i < axes_[a].fields.size(); ++i) {
          fields.set(axes_[a].fields[i], axes_[a].positions[row[a]][i]);
        }
      }
      return fields.problem();
    } catch (const UsageError& error) {
      rethrow_in_file(group_, error);
    }
  }

  [[nodiscard]] std::string name(const AxisRow& row) const {
    std::string labels;
    for (std::size_t a = 0; a < axes_.size(); ++a) labels += (a == 0 ? "/" : ",") + label_of(axes_[a], row[a]);
    return group_.at("name").name() + labels;
  }

  [[nodiscard]] bool allows(const AxisRow& row) const {
    if (!max_total_kv_) return true;
    return problem(row).visit([](const auto& p) { return p.total_kv(); }) <= *max_total_kv_;
  }

 private:
  const JsonNode& group_;
  ProblemFields base_;
  std::vector<Axis> axes_;
  std::optional<std::int64_t> max_total_kv_;
};

Operation read_operation(const JsonNode& node) {
  const auto operation = node.find("operation");
  if (operation && operation->text() != name_of(Operation::decode)) operation->fail("'decode' is needed");
  return Operation::decode;
}

}  // namespace

void rethrow_in_file(const JsonNode& node, const UsageError& error) {
  const std::string message = error.what();
  if (message.starts_with(node.file() + ": ")) throw UsageError(message);
  throw UsageError(fmt::format("{}: {}", node.place(), message));
}

void read_origin(const JsonNode& node, SuiteCase& target) {
  if (const auto source = node.find("source")) target.source = source->text();
  if (const auto why = node.find("why")) target.why = why->text();
  if (const auto providers = node.find("providers")) {
    for (const JsonNode& provider : providers->items()) {
      const std::string name = provider.name();
      if (std::find(target.providers.begin(), target.providers.end(), name) != target.providers.end()) {
        provider.fail("the provider is listed twice");
      }
      target.providers.push_back(name);
    }
  }
}

ProblemFields read_base(const JsonNode& node) {
  ProblemFields fields(read_operation(node));
  const auto model = node.find("model");
  const auto tp = node.find("tp");
  if (tp && !model) tp->fail("tp needs a model");
  try {
    if (model) fields.set_model(find_model(model->text()), tp ? static_cast<int>(tp->integer(1, 1024)) : 1);
    if (const auto base = node.find("base")) {
      for (const auto& [field, value] : base->members()) fields.set(field, field_text(value));
    }
  } catch (const UsageError& error) {
    rethrow_in_file(node, error);
  }
  return fields;
}

void expand_group(const JsonNode& group, const std::string& suite, std::size_t max_cases,
                  const std::function<void(SuiteCase)>& sink) {
  group.require_keys({"name", "operation", "model", "tp", "base", "axes", "zip", "pairwise", "max_total_kv", "source",
                      "why", "providers"});
  const Grid grid(group, read_base(group), read_axes(group));
  const auto pairwise_key = group.find("pairwise");
  const bool pairwise = pairwise_key && pairwise_key->boolean();
  const std::vector<std::size_t> sizes = grid.sizes();
  require_room(group, sizes, pairwise, max_cases);

  const auto allowed = [&](const AxisRow& row) { return grid.allows(row); };
  const std::vector<AxisRow> rows = pairwise ? all_pairs(sizes, allowed) : full_product(sizes, allowed);
  if (rows.empty()) group.fail("max_total_kv leaves no case");
  for (const AxisRow& row : rows) {
    SuiteCase generated{grid.problem(row), suite, grid.name(row), {}, {}, {}};
    read_origin(group, generated);
    sink(std::move(generated));
  }
}

}  // namespace mla::harness
