#include "reports/journal.hpp"

#include <algorithm>
#include <array>
#include <map>
#include <utility>

#include <fcntl.h>

#include <fmt/format.h>

#include "reports/detail/descriptor.hpp"
#include "reports/detail/file.hpp"
#include "reports/detail/journal_lines.hpp"
#include "reports/detail/text.hpp"
#include "reports/detail/validate.hpp"
#include "reports/error.hpp"
#include "reports/version.hpp"
#include "reports/write.hpp"

namespace mla::reports {
namespace {

std::unique_ptr<detail::Descriptor> open_locked(const std::filesystem::path& path, int flags) {
  std::error_code ignored;
  if (path.has_parent_path()) std::filesystem::create_directories(path.parent_path(), ignored);
  auto file = std::make_unique<detail::Descriptor>(path, O_RDWR | flags);
  if (!file->lock()) throw ReportError(fmt::format("{}: another run is writing this journal", path.string()));
  return file;
}

void check_same_run(const Json& theirs, const Json& ours) {
  static constexpr std::array members = {
      "/environment/fingerprint", "/run/mode", "/run/seed", "/run/shard", "/run/git", "/run/build", "/schema/version"};
  for (const char* member : members) {
    const Json::json_pointer pointer(member);
    if (theirs.at(pointer) != ours.at(pointer)) {
      throw ReportError(fmt::format("cannot resume: {} was {} and now is {}", member,
                                    detail::shorten_middle(dump_strict(theirs.at(pointer)), 100),
                                    detail::shorten_middle(dump_strict(ours.at(pointer)), 100)));
    }
  }
}

/// Speed-up of each provider of a problem over its baseline: torch where it ran, else the first provider.
Json provider_ratios(std::span<const Json> cases) {
  struct Timed {
    std::string provider;
    double median_ns;
  };
  std::vector<std::pair<std::string, std::vector<Timed>>> problems;
  std::map<std::string, std::size_t> place;
  for (const Json& entry : cases) {
    const auto performance = entry.find("performance");
    if (performance == entry.end() || performance->is_null()) continue;
    const auto problem = entry.at("problem").get<std::string>();
    const auto [at, added] = place.emplace(problem, problems.size());
    if (added) problems.emplace_back(problem, std::vector<Timed>{});
    problems[at->second].second.push_back(
        {entry.at("provider").get<std::string>(), performance->at("median_ns").get<double>()});
  }
  Json ratios = Json::array();
  for (const auto& [problem, timed] : problems) {
    const auto torch = std::find_if(timed.begin(), timed.end(), [](const Timed& t) { return t.provider == "torch"; });
    const Timed& baseline = torch == timed.end() ? timed.front() : *torch;
    for (const Timed& entry : timed) {
      if (&entry == &baseline) continue;
      ratios.push_back({{"problem", problem},
                        {"provider", entry.provider},
                        {"baseline", baseline.provider},
                        {"speedup", baseline.median_ns / entry.median_ns}});
    }
  }
  return ratios;
}

double sum_of_elapsed_s(std::span<const Json> cases) {
  double ms = 0;
  for (const Json& entry : cases) {
    const auto elapsed = entry.find("elapsed_ms");
    if (elapsed == entry.end() || elapsed->is_null()) continue;
    for (const Json& time : *elapsed) ms += time.get<double>();
  }
  return ms / 1e3;
}

Json summarise(std::span<const Json> cases, const RunEnd& end) {
  Counts counts;
  for (const Json& entry : cases) counts.add(*verdict_from(entry.at("verdict").get<std::string>()));
  Json summary = {{"total", counts.total}};
  for (const Verdict verdict : kVerdicts) summary[std::string(name_of(verdict))] = counts.of(verdict);
  summary["elapsed_s"] = end.elapsed_s ? *end.elapsed_s : sum_of_elapsed_s(cases);
  summary["provider_ratios"] = provider_ratios(cases);
  return summary;
}

std::size_t launches_of(const Json& report_case) {
  const auto performance = report_case.find("performance");
  if (performance == report_case.end() || performance->is_null()) return 0;
  return performance->at("launch_samples_ns").size();
}

Json launch_line(const std::string& key, std::span<const double> samples_ns) {
  return {{"key", key}, {"launch", {{"samples_ns", std::vector<double>(samples_ns.begin(), samples_ns.end())}}}};
}

Json failure_line(const std::string& key, const std::string& failure) {
  return {{"key", key}, {"failure", failure}};
}

}  // namespace

JournalWriter::JournalWriter(std::unique_ptr<detail::Descriptor> file) : file_(std::move(file)) {}
JournalWriter::JournalWriter(JournalWriter&& other) noexcept = default;
JournalWriter& JournalWriter::operator=(JournalWriter&& other) noexcept = default;
JournalWriter::~JournalWriter() = default;

JournalWriter JournalWriter::create(const std::filesystem::path& path, const Json& header) {
  (void)detail::parse_header(header, detail::HeaderOf::journal);
  JournalWriter writer(open_locked(path, O_CREAT));
  writer.file_->truncate(0);
  writer.write_line(header);
  return writer;
}

JournalWriter JournalWriter::resume(const std::filesystem::path& path, const Json& header) {
  (void)detail::parse_header(header, detail::HeaderOf::journal);
  JournalWriter writer(open_locked(path, 0));
  try {
    const detail::JournalLines lines = detail::read_journal(detail::read_file(path));
    check_same_run(lines.header, header);
    for (const Json& entry : lines.cases) writer.done_.emplace(entry.at("key").get<std::string>(), launches_of(entry));
    writer.bytes_ = lines.whole_bytes;
  } catch (const ReportError& error) {
    throw ReportError(fmt::format("{}: {}", path.string(), error.what()));
  }
  writer.file_->truncate(writer.bytes_);
  writer.file_->seek_end();
  return writer;
}

void JournalWriter::write_line(const Json& document) {
  const std::string line = dump_strict(document) + '\n';
  try {
    file_->write(line);
    file_->sync();
  } catch (const ReportError&) {
    // A full disk must not leave half a line in front of the next case's.
    file_->truncate(bytes_);
    file_->seek_end();
    throw;
  }
  bytes_ += line.size();
}

void JournalWriter::append(const Json& report_case) {
  const Case parsed = detail::parse_case(report_case, report_case, kReportMinor);
  if (done_.contains(parsed.key)) {
    throw ReportError(fmt::format("/key = '{}': the journal has this case already", parsed.key));
  }
  write_line(report_case);
  done_.emplace(parsed.key, parsed.performance ? parsed.performance->launch_samples_ns.size() : 0);
}

void JournalWriter::append_launch(const std::string& key, std::span<const double> samples_ns) {
  write_line(launch_line(key, samples_ns));
  ++done_.at(key);
}

void JournalWriter::append_failure(const std::string& key, const std::string& failure) {
  write_line(failure_line(key, failure));
  done_.at(key) = 0;
}

void add_launch(Json& report_case, std::span<const double> samples_ns) {
  detail::add_launch(report_case, launch_line(report_case.at("key").get<std::string>(), samples_ns));
}

void add_failure(Json& report_case, const std::string& failure) {
  detail::add_launch(report_case, failure_line(report_case.at("key").get<std::string>(), failure));
}

Json assemble(const Json& header, std::span<const Json> cases, const RunEnd& end) {
  Json report;
  report["schema"] = header.at("schema");
  report["run"] = header.at("run");
  report["run"]["ended_utc"] = end.ended_utc.empty() ? Json(nullptr) : Json(end.ended_utc);
  report["run"]["status"] = end.complete ? "complete" : "interrupted";
  report["environment"] = header.at("environment");
  report["ceilings"] = header.at("ceilings");
  report["cases"] = Json::array();
  for (const Json& entry : cases) report["cases"].push_back(entry);
  report["summary"] = summarise(cases, end);
  return report;
}

Json fold(const std::filesystem::path& journal, const RunEnd& end) {
  try {
    const detail::JournalLines lines = detail::read_journal(detail::read_file(journal));
    return assemble(lines.header, lines.cases, end);
  } catch (const ReportError& error) {
    throw ReportError(fmt::format("{}: {}", journal.string(), error.what()));
  }
}

}  // namespace mla::reports
