// Shards of one run into one report.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "reports/report.hpp"

namespace mla::reports {

/// A shard and what to call it in a message, usually its path.
struct Shard {
  std::string name;
  Report report;
};

/// The report of the whole run: the cases of all shards in the order of their index, ceilings and environment of the
/// first, `run.shard` 1 of 1, complete only where every shard is. Refuses, with ReportError, shards that differ in git
/// commit, build, fingerprint, seed, mode, suites, harness or schema version; a shard that is missing or occurs twice;
/// a case that occurs in two shards.
[[nodiscard]] Json merge(std::span<const Shard> shards);

}  // namespace mla::reports
