// Writing JSON without the two silent losses: NaN turned into null, and a half-written file under the final name.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>

#include "reports/report.hpp"

namespace mla::reports {

/// Text of a document; `indent` < 0 gives one line. Throws ReportError with the JSON pointer of the first number that
/// is not finite. Bytes that are not UTF-8 become U+FFFD: a crashed provider's message must not lose its case.
[[nodiscard]] std::string dump_strict(const Json& document, int indent = -1);

/// Replaces `path` as a whole: written beside it, synced, then renamed, so that a reader finds the old or the new file.
/// Missing parent folders are made; devices and pipes are written to directly. Throws ReportError naming the path.
void write_file(const std::filesystem::path& name, std::string_view contents);

/// Checks `report` as a reader would and writes it; throws ReportError and leaves `path` alone where it is not valid.
void write_report(const std::filesystem::path& path, const Json& report);

}  // namespace mla::reports
