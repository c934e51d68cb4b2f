// A directory of reports as the store of a history, and the index that spares reading them all again.
#pragma once

#include <filesystem>
#include <functional>
#include <string>

#include "reports/history/history.hpp"

namespace mla::reports {

/// A SQLite database in the directory of the reports. It holds nothing that the reports do not: deleted, damaged or of
/// another version, it is made anew.
inline constexpr std::string_view kIndexFile = "mla-history.sqlite";

struct IndexWork {
  std::size_t read = 0;     // reports that were new or had changed
  std::size_t kept = 0;     // reports that the index knew already
  std::size_t removed = 0;  // reports that are gone
  bool written = true;      // false: the index could not be written; it was kept in memory
};

/// Adds every `*.json` below `directory` to `builder`; what is no report is skipped with a line. One report a core is
/// in memory at a time. `progress`, where given, is called with the numbers of reports read and to read.
/// Throws ReportError where the directory cannot be read.
IndexWork add_directory(HistoryBuilder& builder, const std::filesystem::path& directory,
                        const std::function<void(std::size_t, std::size_t)>& progress = {});

}  // namespace mla::reports
