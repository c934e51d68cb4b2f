// The report of a run that is still going on: JSON Lines, one header line, then one line a case, each on disk before
// the next case starts. A crash of the harness, or of the machine, costs the case that was running and nothing else.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>

#include "reports/report.hpp"

namespace mla::reports {
namespace detail {
class Descriptor;
}

/// Appends to a journal. Writes go straight to the file descriptor: no buffer that a forked child could flush again.
/// The file is locked while open; a second writer is refused.
class JournalWriter {
 public:
  /// Starts a journal at `path`, replacing what is there. `header` has the members schema, run, environment and
  /// ceilings of a report; `run.status` and `run.ended_utc` may be left out, `ended_utc` may be null. Throws
  /// ReportError.
  [[nodiscard]] static JournalWriter create(const std::filesystem::path& path, const Json& header);

  /// Continues the journal at `path`: cuts an unfinished last line and reads which cases are done. Refuses a journal
  /// whose fingerprint, seed, mode, shard, git commit or build differ from `header`: their cases would not make one
  /// run.
  [[nodiscard]] static JournalWriter resume(const std::filesystem::path& path, const Json& header);

  JournalWriter(JournalWriter&& other) noexcept;
  JournalWriter& operator=(JournalWriter&& other) noexcept;
  JournalWriter(const JournalWriter&) = delete;
  JournalWriter& operator=(const JournalWriter&) = delete;
  ~JournalWriter();

  /// Checks the case as a reader would and writes it; on disk when this returns. Throws ReportError where the case is
  /// not valid (a number that is not finite, a key written before, ...) and then leaves the journal as it was.
  void append(const Json& report_case);

  /// Adds a later launch of a case that the journal has: `samples_ns` of a process of its own, or how that process
  /// ended without any, which makes the case a crashed one.
  void append_launch(const std::string& key, std::span<const double> samples_ns);
  void append_failure(const std::string& key, const std::string& failure);

  /// The cases in the journal, each with its number of measured launches.
  [[nodiscard]] const std::map<std::string, std::size_t>& done() const { return done_; }

 private:
  explicit JournalWriter(std::unique_ptr<detail::Descriptor> file);
  void write_line(const Json& document);

  std::unique_ptr<detail::Descriptor> file_;
  std::uint64_t bytes_ = 0;  // in whole lines
  std::map<std::string, std::size_t> done_;
};

/// How a run ended.
struct RunEnd {
  std::string ended_utc;            // "2026-12-01T01:02:58Z"; empty where unknown
  bool complete = true;             // false: interrupted
  std::optional<double> elapsed_s;  // none: the sum of the cases' own times
};

/// The report of a journal: its header and cases, and a summary computed from them.
[[nodiscard]] Json fold(const std::filesystem::path& journal, const RunEnd& end);

/// The case with a later launch added to it, as fold adds those of a journal.
void add_launch(Json& report_case, std::span<const double> samples_ns);
void add_failure(Json& report_case, const std::string& failure);

/// Assembles a report from a journal's or report's header and its cases. Cases keep their order.
[[nodiscard]] Json assemble(const Json& header, std::span<const Json> cases, const RunEnd& end);

}  // namespace mla::reports
