// The hand-written counterpart of schema/mla-harness-report-1.2.schema.json: the same rules, fast enough to run at
// every load, and the rules beyond the schema's reach (counts, references between fields). A test holds the two
// together.
#pragma once

#include "reports/report.hpp"

namespace mla::reports::detail {

/// Which members a header must have.
enum class HeaderOf : std::uint8_t { report, journal };

/// Reads the members schema, run, environment and ceilings; leaves the cases and the summary alone. Anything but a
/// readable version of the report schema is refused first, so that a foreign file is called foreign.
[[nodiscard]] Report parse_header(const Json& document, HeaderOf kind);

/// The schema minor of a document, which needs no other member. Refuses what is no readable report.
[[nodiscard]] int parse_minor(const Json& document);

/// Reads the member summary and holds its counts to those of the cases read before.
void parse_summary(const Json& document, Report& report);

/// Reads one case; `minor` is the schema minor of its file. `document` holds `value`, for messages.
[[nodiscard]] Case parse_case(const Json& document, const Json& value, int minor);

}  // namespace mla::reports::detail
