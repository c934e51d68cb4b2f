// The report of a comparison by pairs.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "reports/pair/judge.hpp"

namespace mla::reports {

/// What the report says beside the judgement.
struct PairRun {
  std::string started_utc;
  std::string ended_utc;
  bool complete = true;  // false: interrupted
  std::vector<std::string> argv;
  Json design;  // as in the journal
};

/// Document of schema mla-harness-pair: the comparison (as mla-harness-comparison has it), and every launch that it
/// rests on. `cases` are those that were judged.
[[nodiscard]] Json pair_json(const PairJudgement& judgement, std::span<const PairedCase> cases, const PairRun& run);

}  // namespace mla::reports
