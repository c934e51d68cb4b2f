// Reports that the tests of this folder start from.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "reports/error.hpp"
#include "reports/journal.hpp"
#include "reports/report.hpp"

namespace mla::suites {

using reports::Json;
using reports::Verdict;

/// Members schema, run, environment and ceilings.
[[nodiscard]] Json example_header();

/// Samples of `launches` launches, 8 each, around `median_ns`: spread by 0.2 % within a launch and by `launch_spread`
/// from launch to launch. The median of all is `median_ns`.
[[nodiscard]] Json example_performance(double median_ns, int launches = 1, double launch_spread = 0.002);

/// What a driver tells around a measurement; added to a performance, of which it is no part everywhere.
[[nodiscard]] Json example_clocks();

/// A case with every member that its verdict requires or usually has.
[[nodiscard]] Json example_case(std::string_view problem, std::string_view provider, Verdict verdict = Verdict::passed);
/// A passed case with the given times.
[[nodiscard]] Json timed_case(std::string_view problem, std::string_view provider, const Json& performance);

[[nodiscard]] Json example_report(const std::vector<Json>& cases);
/// One case of each verdict, and a problem with two providers.
[[nodiscard]] Json example_report();

/// A folder of its own for one test, removed with it.
class TemporaryFolder {
 public:
  TemporaryFolder();
  ~TemporaryFolder();
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;
  [[nodiscard]] std::filesystem::path operator/(std::string_view name) const { return path_ / name; }

 private:
  std::filesystem::path path_;
};

[[nodiscard]] std::string contents_of(const std::filesystem::path& path);
void put(const std::filesystem::path& path, std::string_view contents);

/// The message of the ReportError that `action` throws; "nothing thrown" where it throws none.
template <class Action>
std::string refusal(Action&& action) {
  try {
    action();
  } catch (const reports::ReportError& error) {
    return error.what();
  }
  return "nothing thrown";
}

}  // namespace mla::suites
