// Reads a report, or the journal of an interrupted run, and trusts nothing in it.
#pragma once

#include <cstdint>
#include <filesystem>

#include "reports/report.hpp"

namespace mla::reports {

/// Larger files are refused before a byte is read.
inline constexpr std::uintmax_t kMaxReportBytes = std::uintmax_t{2} << 30U;

/// Whether `Case::json` is wanted. Without it a report takes a third of the time and a tenth of the memory.
enum class CaseJson : std::uint8_t { keep, drop };

/// Reads strict JSON: no NaN or Infinity, no comments, no repeated member, no text after the document, valid UTF-8,
/// limited depth; then checks schema, version, types, ranges, repeated cases, and that counts agree with the cases.
/// Also reads the JSON Lines form of a run that did not reach its end: only there, and only in its last line, is a cut
/// tolerated; the result says `run.complete == false`. Throws ReportError, whose line begins with the path.
[[nodiscard]] Report load_report(const std::filesystem::path& path, CaseJson keep = CaseJson::keep);

}  // namespace mla::reports
