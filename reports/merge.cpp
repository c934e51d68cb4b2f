#include "reports/merge.hpp"

#include <algorithm>
#include <array>
#include <map>
#include <vector>

#include <fmt/format.h>

#include "reports/detail/text.hpp"
#include "reports/error.hpp"
#include "reports/journal.hpp"

namespace mla::reports {
namespace {

std::string short_json(const Json& value) {
  return detail::shorten_middle(value.dump(-1, ' ', false, Json::error_handler_t::replace), 80);
}

void check_belong_together(const Shard& first, const Shard& other) {
  static constexpr std::array members = {"/schema/version", "/run/version",     "/run/git",
                                         "/run/build",      "/run/mode",        "/run/seed",
                                         "/run/suites",     "/run/shard/count", "/environment/fingerprint"};
  for (const char* member : members) {
    const Json::json_pointer pointer(member);
    const Json& expected = first.report.header.at(pointer);
    const Json& actual = other.report.header.at(pointer);
    if (expected != actual) {
      throw ReportError(fmt::format("{} does not belong to {}: {} is {} and {}", other.name, first.name, member,
                                    short_json(actual), short_json(expected)));
    }
  }
}

/// Shards in the order of their index; every index from 1 to the count exactly once.
std::vector<const Shard*> in_order(std::span<const Shard> shards) {
  const std::int64_t count = shards.front().report.run.shard_count;
  std::map<std::int64_t, const Shard*> by_index;
  for (const Shard& shard : shards) {
    const auto [at, added] = by_index.emplace(shard.report.run.shard_index, &shard);
    if (!added) {
      throw ReportError(
          fmt::format("{} and {} are both shard {} of {}", at->second->name, shard.name, at->first, count));
    }
  }
  std::vector<const Shard*> ordered;
  for (const auto& [index, shard] : by_index) {
    const auto expected = static_cast<std::int64_t>(ordered.size()) + 1;
    if (index != expected) throw ReportError(fmt::format("shard {} of {} is missing", expected, count));
    ordered.push_back(shard);
  }
  if (static_cast<std::int64_t>(ordered.size()) != count) {
    throw ReportError(fmt::format("shard {} of {} is missing", ordered.size() + 1, count));
  }
  return ordered;
}

}  // namespace

Json merge(std::span<const Shard> shards) {
  if (shards.empty()) throw ReportError("no shards to merge");
  for (const Shard& shard : shards) check_belong_together(shards.front(), shard);

  RunEnd end{.ended_utc = {}, .complete = true, .elapsed_s = 0};
  std::vector<Json> cases;
  std::map<std::string_view, std::string_view> shard_of_key;
  const std::vector<const Shard*> ordered = in_order(shards);
  for (const Shard* shard : ordered) {
    for (const Case& entry : shard->report.cases) {
      const auto [at, added] = shard_of_key.emplace(entry.key, shard->name);
      if (!added) throw ReportError(fmt::format("{} and {} both hold {}", at->second, shard->name, entry.key));
      cases.push_back(entry.json);
    }
    const Run& run = shard->report.run;
    end.complete = end.complete && run.complete;
    // Both are UTC in one fixed format, so that the later time is the larger string. Shards may run side by side: their
    // sum is the machine time that the run took, which is what elapsed_s of a report without shards says as well.
    end.ended_utc = std::max(end.ended_utc, run.ended_utc);
    *end.elapsed_s += shard->report.elapsed_s;
  }
  Json header = ordered.front()->report.header;
  for (const Shard* shard : ordered) {
    const auto started = shard->report.run.started_utc;
    if (started < header["run"]["started_utc"].get_ref<const std::string&>()) header["run"]["started_utc"] = started;
  }
  header["run"]["shard"] = {{"index", 1}, {"count", 1}};
  return assemble(header, cases, end);
}

}  // namespace mla::reports
