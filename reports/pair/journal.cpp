#include "reports/pair/journal.hpp"

#include <string>
#include <utility>

#include <fcntl.h>

#include <fmt/format.h>

#include "reports/detail/descriptor.hpp"
#include "reports/detail/field.hpp"
#include "reports/detail/file.hpp"
#include "reports/detail/strict_json.hpp"
#include "reports/detail/text.hpp"
#include "reports/error.hpp"
#include "reports/version.hpp"
#include "reports/write.hpp"

namespace mla::reports {
namespace {

using detail::Field;

Json header_of(const Json& design) {
  return {{"schema", {{"name", std::string(kPairJournalSchema)}, {"version", std::string(kPairJournalVersion)}}},
          {"design", design}};
}

Json to_json(const PairLaunch& launch) {
  Json json = {{"key", launch.key},
               {"stage", std::string(name_of(launch.stage))},
               {"pair", launch.pair},
               {"side", std::string(name_of(launch.side))},
               {"first", launch.first}};
  if (launch.failure.empty()) {
    json["times"] = launch_json(launch.times);
  } else {
    json["failure"] = launch.failure;
  }
  return json;
}

PairLaunch from_json(const Json& document) {
  const Field field(document);
  field.object().only({"key", "stage", "pair", "side", "first", "times", "failure"});
  const auto is = [&](const char* member, std::string_view one, std::string_view other) {
    const Field value = field.at(member);
    if (value.text() != one && value.text() != other) value.refuse(fmt::format("must be {} or {}", one, other));
    return value.text() == one;
  };
  PairLaunch launch;
  launch.key = field.at("key").nonempty();
  launch.stage = is("stage", "screen", "confirm") ? PairStage::screen : PairStage::confirm;
  launch.pair = static_cast<int>(field.at("pair").integer(0));
  launch.side = is("side", "base", "new") ? PairSide::base : PairSide::next;
  launch.first = field.at("first").boolean();
  if (const auto failure = field.find("failure")) {
    launch.failure = failure->nonempty();
  } else {
    launch.times = parse_launch(field.at("times").json().dump());
  }
  return launch;
}

void check_header(const Json& document, const Json& design) {
  const Field header(document);
  if (header.object().at("schema").at("name").text() != kPairJournalSchema) {
    header.at("schema").at("name").refuse(fmt::format("must be {}", kPairJournalSchema));
  }
  const Json& theirs = header.at("design").object().json();
  for (const auto& [name, value] : design.items()) {
    const auto found = theirs.find(name);
    if (found != theirs.end() && *found == value) continue;
    const auto text = [](const Json& json) { return detail::shorten_middle(json.dump(), 100); };
    throw ReportError(fmt::format("cannot resume: {} was {} and now is {}", name,
                                  found == theirs.end() ? "absent" : text(*found), text(value)));
  }
}

std::unique_ptr<detail::Descriptor> open_locked(const std::filesystem::path& path, int flags) {
  std::error_code ignored;
  if (path.has_parent_path()) std::filesystem::create_directories(path.parent_path(), ignored);
  auto file = std::make_unique<detail::Descriptor>(path, O_RDWR | flags);
  if (!file->lock()) throw ReportError(fmt::format("{}: another process is writing this journal", path.string()));
  return file;
}

}  // namespace

PairJournal::PairJournal(std::unique_ptr<detail::Descriptor> file) : file_(std::move(file)) {}
PairJournal::PairJournal(PairJournal&& other) noexcept = default;
PairJournal& PairJournal::operator=(PairJournal&& other) noexcept = default;
PairJournal::~PairJournal() = default;

PairJournal PairJournal::create(const std::filesystem::path& path, const Json& design) {
  PairJournal journal(open_locked(path, O_CREAT));
  journal.file_->truncate(0);
  journal.write_line(header_of(design));
  return journal;
}

PairJournal PairJournal::resume(const std::filesystem::path& path, const Json& design) {
  PairJournal journal(open_locked(path, 0));
  const std::string text = detail::read_file(path);
  std::size_t whole = 0;
  std::size_t number = 0;
  try {
    for (std::size_t end = text.find('\n'); end != std::string::npos; end = text.find('\n', whole)) {
      ++number;
      const Json line = detail::parse_strict(std::string_view(text).substr(whole, end - whole));
      if (number == 1) {
        check_header(line, design);
      } else {
        journal.launches_.push_back(from_json(line));
      }
      whole = end + 1;
    }
    if (number == 0) throw ReportError("the journal has no header line");
  } catch (const ReportError& error) {
    throw ReportError(fmt::format("{}: line {}: {}", path.string(), number, error.what()));
  }
  journal.file_->truncate(whole);
  journal.file_->seek_end();
  return journal;
}

void PairJournal::write_line(const Json& document) {
  file_->write(dump_strict(document) + '\n');
  file_->sync();
}

void PairJournal::append(const PairLaunch& launch) {
  write_line(to_json(launch));
}

}  // namespace mla::reports
