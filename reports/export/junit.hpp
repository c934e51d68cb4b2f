// JUnit XML, the form in which CI systems list test cases.
#pragma once

#include <string>

#include "reports/report.hpp"

namespace mla::reports {

/// One test case a case, grouped by suite. failed, mistrusted and unexpected_pass are failures, crashed and timeout are
/// errors, both with the repro command in their body; skipped, unimplemented and known_failure are skipped, with
/// reason. Times in seconds. Characters that XML cannot hold are replaced.
[[nodiscard]] std::string junit_xml(const Report& report);

}  // namespace mla::reports
