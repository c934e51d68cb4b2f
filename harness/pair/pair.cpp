#include "harness/pair/pair.hpp"

#include <fmt/format.h>

#include <cstdlib>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <utility>

#include "harness/core/terminal.hpp"
#include "harness/runner/case_record.hpp"
#include "harness/runner/environment.hpp"
#include "harness/runner/interruption.hpp"
#include "reports/dashboard/dashboard.hpp"
#include "reports/margins.hpp"
#include "reports/pair/journal.hpp"
#include "reports/pair/pair_json.hpp"
#include "reports/write.hpp"

namespace mla::harness {

namespace {

namespace fs = std::filesystem;
using reports::Json;
using reports::PairSide;
using reports::PairStage;

// Where the files beside the report lie; a folder that is removed in the end where there is no report.
class Files {
 public:
  explicit Files(const std::string& out) {
    if (!out.empty()) {
      stem_ = fs::path(out).replace_extension("");
      return;
    }
    std::string pattern = (fs::temp_directory_path() / "mla-pair-XXXXXX").string();
    if (mkdtemp(pattern.data()) == nullptr) throw EnvironmentError(fmt::format("cannot make a folder {}", pattern));
    temporary_ = pattern;
    stem_ = temporary_ / "pair";
  }
  Files(const Files&) = delete;
  Files& operator=(const Files&) = delete;
  ~Files() {
    std::error_code ignored;
    if (!temporary_.empty()) fs::remove_all(temporary_, ignored);
  }

  [[nodiscard]] fs::path check(PairSide side) const { return with(fmt::format(".{}.json", reports::name_of(side))); }
  [[nodiscard]] fs::path journal() const { return with(".jsonl"); }

 private:
  [[nodiscard]] fs::path with(const std::string& ending) const { return stem_.string() + ending; }

  fs::path stem_;
  fs::path temporary_;
};

class PairCommand {
 public:
  explicit PairCommand(const PairOptions& options)
      : options_(options),
        base_("--base", options.base, options.subjects),
        next_("--new", options.next, options.subjects),
        files_(options.out),
        design_json_(design_json()),
        journal_(open_journal()) {}

  ExitCode execute() {
    base_report_ = base_.check(files_.check(PairSide::base), options_.resume);
    if (base_report_) next_report_ = next_.check(files_.check(PairSide::next), options_.resume);
    // Interrupted before there was anything to report; the journals of the checks are where --resume goes on.
    if (!base_report_ || !next_report_) return ExitCode::interrupted;
    PairDesign design = options_.design;
    design.rules.fingerprint = base_report_->environment.fingerprint;
    const Launches launches =
        run_rounds(cases_to_time(), design, hooks(), journal_ ? journal_->launches() : Launches{});
    progress_.reset();
    check_unchanged();
    return conclude(launches, design.rules);
  }

 private:
  using Launches = std::vector<reports::PairLaunch>;

  [[nodiscard]] const Subject& subject(PairSide side) const { return side == PairSide::base ? base_ : next_; }

  [[nodiscard]] bool in_turns() const {
    return options_.alternation == Alternation::turns && base_.knows_turns() && next_.knows_turns();
  }

  // Whatever bears on a launch, or on which launches there are.
  [[nodiscard]] Json design_json() const {
    const SubjectOptions& subjects = options_.subjects;
    const MeasureOptions& measure = subjects.measure;
    const reports::PairRules& rules = options_.design.rules;
    const auto executable = [](const Subject& which) {
      return Json{{"path", which.path()}, {"digest", which.digest()}};
    };
    return {{"base", executable(base_)},
            {"new", executable(next_)},
            {"machine", fingerprint(read_environment())},
            {"inputs", subjects.selection.inputs},
            {"providers", subjects.selection.providers},
            {"filter", subjects.selection.filter},
            {"seed", options_.design.seed},
            {"screen_pairs", options_.design.screen_pairs},
            {"confirm_pairs", rules.confirm_pairs},
            {"looks", rules.looks},
            {"alternation", in_turns() ? "turns" : "launches"},
            {"screen_level", rules.screen_level},
            {"margin", rules.compare.margin},
            {"margins", reports::margins_json(rules.compare.margins)},
            {"warmup_s", measure.sampling.warmup_s},
            {"budget_s", measure.sampling.budget_s},
            {"cache", !measure.cache ? Json() : Json(*measure.cache == CacheState::hot ? "hot" : "cold")}};
  }

  [[nodiscard]] std::optional<reports::PairJournal> open_journal() const {
    if (options_.out.empty()) return std::nullopt;
    if (options_.resume && fs::exists(files_.journal())) {
      return reports::PairJournal::resume(files_.journal(), design_json_);
    }
    // Checks of other executables may lie there.
    for (const PairSide side : {PairSide::base, PairSide::next}) {
      fs::remove(files_.check(side));
      fs::remove(files_.check(side).replace_extension(".jsonl"));
    }
    return reports::PairJournal::create(files_.journal(), design_json_);
  }

  // Right in both: a wrong kernel has no speed, and what one alone can run has nothing to be compared with.
  [[nodiscard]] std::vector<std::string> cases_to_time() const {
    std::map<std::string_view, reports::Verdict> verdicts;
    for (const reports::Case& entry : base_report_->cases) verdicts.emplace(entry.key, entry.verdict);
    std::vector<std::string> keys;
    for (const reports::Case& entry : next_report_->cases) {
      const auto at = verdicts.find(entry.key);
      if (at == verdicts.end() || at->second != reports::Verdict::passed) continue;
      if (entry.verdict == reports::Verdict::passed) keys.push_back(entry.key);
    }
    return keys;
  }

  [[nodiscard]] PairHooks hooks() {
    PairHooks hooks;
    hooks.launch = [this](const std::string& key, PairSide side) -> std::optional<reports::PairLaunch> {
      if (InterruptionGuard::requested()) return std::nullopt;
      return subject(side).launch(key);
    };
    if (in_turns()) {
      hooks.launch_both = [this](const std::string& key,
                                 PairSide first) -> std::optional<std::array<reports::PairLaunch, 2>> {
        if (InterruptionGuard::requested()) return std::nullopt;
        return launch_in_turns(subject(first), subject(reports::other(first)), key);
      };
    }
    hooks.keep = [this](const reports::PairLaunch& launch) {
      if (journal_) journal_->append(launch);
    };
    hooks.begin_stage = [this](PairStage stage, std::size_t pairs) {
      stage_ = reports::name_of(stage);
      progress_.emplace(options_.progress, static_cast<int>(pairs), static_cast<double>(pairs), stderr, "pairs");
    };
    hooks.begin_pair = [this](const std::string& key) { progress_->begin(fmt::format("{} {}", stage_, key)); };
    hooks.end_pair = [this](const std::string& key, bool done_before) {
      progress_->end(fmt::format("{} {}", stage_, key), "done", done_before ? 0 : 1);
    };
    return hooks;
  }

  // A build in the background would have had two programs compared as one.
  void check_unchanged() const {
    for (const PairSide side : {PairSide::base, PairSide::next}) {
      const std::string name(reports::name_of(side));
      if (subject(side).digest() == design_json_.at(name).at("digest").get<std::string>()) continue;
      throw EnvironmentError(
          fmt::format("--{} = '{}': the file changed while it was measured", name, subject(side).path()));
    }
  }

  ExitCode conclude(const Launches& launches, reports::PairRules rules) {
    const bool interrupted = InterruptionGuard::requested();
    rules.compare.base_name = base_.path();
    rules.compare.next_name = next_.path();
    const std::vector<reports::PairedCase> cases = reports::pair_up(launches);
    reports::PairJudgement judgement = reports::judge(*base_report_, *next_report_, cases, rules);
    if (interrupted) judgement.comparison.notes.emplace_back("interrupted: judged by the pairs that were finished");
    const reports::Comparison& comparison = judgement.comparison;
    if (!options_.out.empty()) {
      const reports::PairRun run{base_report_->run.started_utc, utc_now(), !interrupted, options_.argv, design_json_};
      reports::write_file(options_.out, reports::dump_strict(reports::pair_json(judgement, cases, run)) + "\n");
      // Of an interrupted comparison it is what --resume continues.
      journal_.reset();
      if (!interrupted) fs::remove(files_.journal());
    }
    if (!options_.markdown.empty()) reports::write_file(options_.markdown, reports::comparison_markdown(comparison));
    if (!options_.html.empty()) {
      reports::write_file(
          options_.html,
          reports::dashboard_html(*next_report_, {.comparison = &comparison, .history = nullptr, .view = "compare"}));
    }
    fmt::print("{}", reports::comparison_text(comparison, {terminal_columns(), stdout_is_terminal()}));
    if (!options_.out.empty()) fmt::print("report         {}\n", options_.out);
    return interrupted ? ExitCode::interrupted : static_cast<ExitCode>(comparison.exit());
  }

  const PairOptions& options_;
  Subject base_;
  Subject next_;
  Files files_;
  Json design_json_;
  std::optional<reports::PairJournal> journal_;
  std::optional<reports::Report> base_report_;
  std::optional<reports::Report> next_report_;
  std::optional<Progress> progress_;
  std::string_view stage_;
};

}  // namespace

ExitCode pair(const PairOptions& options) {
  const InterruptionGuard guard;
  return PairCommand(options).execute();
}

}  // namespace mla::harness
