#include "reports/isa_report.hpp"

#include <fstream>
#include <limits>
#include <set>
#include <utility>

#include <fmt/format.h>

#include "reports/detail/field.hpp"
#include "reports/detail/file.hpp"
#include "reports/detail/strict_json.hpp"
#include "reports/error.hpp"
#include "reports/version.hpp"

namespace mla::reports {
namespace {

using detail::Field;
using Numbers = std::map<std::string, std::int64_t>;

void read_group(const Field& kernel, const std::string& group, Numbers& numbers) {
  const auto values = kernel.find(group);
  if (!values) return;
  values->object();
  values->each_member([&](const std::string& key, const Field& value) {
    numbers[group + "." + key] = value.integer(std::numeric_limits<std::int64_t>::min());
  });
}

Numbers read_limits(const Field& budget, std::string_view side) {
  Numbers limits;
  budget.at(side).object().each_member([&](const std::string& path, const Field& value) {
    limits[path] = value.integer(std::numeric_limits<std::int64_t>::min());
  });
  return limits;
}

IsaKernel read_kernel(const Field& record) {
  IsaKernel kernel;
  kernel.target = record.at("target").nonempty();
  const auto name = record.find("name");
  kernel.name = name ? name->nonempty() : record.at("kernel").nonempty();
  record.at("resources").object();
  for (const char* group : {"resources", "code", "hot_loop"}) read_group(record, group, kernel.numbers);
  if (const auto budget = record.find("budget")) {
    kernel.max = read_limits(*budget, "max");
    kernel.min = read_limits(*budget, "min");
  }
  return kernel;
}

}  // namespace

IsaReport parse_isa_report(const Json& document) {
  const Field root(document);
  const std::string& schema = root.at("schema").nonempty();
  const std::string prefix = fmt::format("{} {}.", kIsaSchema, kIsaMajor);
  if (!schema.starts_with(prefix)) root.at("schema").refuse(fmt::format("must be '{}x'", prefix));
  IsaReport report;
  if (const auto compiler = root.find("compiler")) report.compiler = compiler->text();
  std::set<std::pair<std::string, std::string>> seen;
  root.at("kernels").array(1).each([&](const Field& record) {
    IsaKernel kernel = read_kernel(record);
    if (!seen.emplace(kernel.target, kernel.name).second) {
      record.refuse(fmt::format("kernel '{}' is there twice for {}", kernel.name, kernel.target));
    }
    report.kernels.push_back(std::move(kernel));
  });
  return report;
}

IsaReport load_isa_report(const std::filesystem::path& path) {
  try {
    return parse_isa_report(detail::parse_strict(detail::read_file(path)));
  } catch (const ReportError& error) {
    throw ReportError(fmt::format("{}: {}", path.string(), error.what()));
  }
}

bool holds_isa_report(const std::filesystem::path& path) {
  std::string head(256, '\0');
  std::ifstream file(path, std::ios::binary);
  file.read(head.data(), static_cast<std::streamsize>(head.size()));
  return head.find(fmt::format("\"{} ", kIsaSchema)) != std::string::npos;
}

}  // namespace mla::reports
