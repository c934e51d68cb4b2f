// The launches of a comparison by pairs that is still going on: JSON Lines, a header, then one line a launch, each on
// disk before the next one starts.
#pragma once

#include <filesystem>
#include <memory>
#include <vector>

#include "reports/pair/launch.hpp"

namespace mla::reports {
namespace detail {
class Descriptor;
}

/// The file is locked while open; a second writer is refused.
class PairJournal {
 public:
  /// Starts a journal at `path`, replacing what is there. `design` is whatever must be equal for launches to belong
  /// together: the executables' contents, the machine, the options. Throws ReportError.
  [[nodiscard]] static PairJournal create(const std::filesystem::path& path, const Json& design);

  /// Continues the journal at `path`: cuts an unfinished last line and reads the launches. Refuses another design, and
  /// names the first member that differs.
  [[nodiscard]] static PairJournal resume(const std::filesystem::path& path, const Json& design);

  PairJournal(PairJournal&& other) noexcept;
  PairJournal& operator=(PairJournal&& other) noexcept;
  PairJournal(const PairJournal&) = delete;
  PairJournal& operator=(const PairJournal&) = delete;
  ~PairJournal();

  /// On disk when this returns.
  void append(const PairLaunch& launch);

  /// What a journal that was resumed held, in its order.
  [[nodiscard]] const std::vector<PairLaunch>& launches() const { return launches_; }

 private:
  explicit PairJournal(std::unique_ptr<detail::Descriptor> file);
  void write_line(const Json& document);

  std::unique_ptr<detail::Descriptor> file_;
  std::vector<PairLaunch> launches_;
};

}  // namespace mla::reports
