// Names and versions of the documents that this folder reads and writes.
#pragma once

#include <string_view>

namespace mla::reports {

inline constexpr std::string_view kReportSchema = "mla-harness-report";
inline constexpr std::string_view kComparisonSchema = "mla-harness-comparison";
inline constexpr std::string_view kPairSchema = "mla-harness-pair";
inline constexpr std::string_view kPairJournalSchema = "mla-harness-pair-journal";
inline constexpr std::string_view kLaunchSchema = "mla-harness-launch";
inline constexpr std::string_view kIsaSchema = "mla-isa";  // written by ci/isa, with its version behind a blank
inline constexpr std::string_view kIsaComparisonSchema = "mla-isa-comparison";

// Version rule, `major.minor.patch`:
//   major  a field changed its meaning, type or unit, or a required field went away. Readers refuse another major: a
//          number misread is worse than a report not read.
//   minor  fields were added that a reader may ignore. Older minors stay readable for ever, so no reader may require a
//          field that a later minor brought. A newer minor is read with a warning, its unknown fields ignored; in a
//          report of this minor or older an unknown field is an error, since it can only be a misspelt one.
//   patch  wording of the schema only. Readers ignore it.
// Whoever changes a number below changes the schema file's name or `$id` with it, and adds a report of the version left
// behind to the tests.
inline constexpr int kReportMajor = 1;
inline constexpr int kReportMinor = 2;
inline constexpr std::string_view kReportVersion = "1.2.0";
inline constexpr std::string_view kComparisonVersion = "1.1.0";
inline constexpr std::string_view kMarginsVersion = "1.0.0";
inline constexpr std::string_view kPairVersion = "1.0.0";
inline constexpr std::string_view kPairJournalVersion = "1.0.0";
// What `mla-harness launch` prints. `pair` reads it from executables of other commits: a change that they cannot both
// understand is a new major.
inline constexpr int kLaunchMajor = 1;
inline constexpr std::string_view kLaunchVersion = "1.0.0";
inline constexpr int kIsaMajor = 1;
inline constexpr std::string_view kIsaComparisonVersion = "1.0.0";

}  // namespace mla::reports
