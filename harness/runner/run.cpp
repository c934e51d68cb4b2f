#include "harness/runner/run.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <random>
#include <utility>

#include "harness/core/shuffle.hpp"
#include "harness/core/terminal.hpp"
#include "harness/inputs/decode_inputs.hpp"
#include "harness/runner/case_record.hpp"
#include "harness/runner/case_runner.hpp"
#include "harness/runner/ceiling_run.hpp"
#include "harness/runner/cost.hpp"
#include "harness/runner/environment.hpp"
#include "harness/runner/interruption.hpp"
#include "harness/runner/known_failures.hpp"
#include "harness/runner/launch.hpp"
#include "reports/export/junit.hpp"
#include "reports/journal.hpp"
#include "reports/pair/launch.hpp"
#include "reports/summary.hpp"
#include "reports/write.hpp"

namespace mla::harness {

namespace {

using Json = nlohmann::ordered_json;
using Clock = std::chrono::steady_clock;

class Run {
 public:
  Run(const RunOptions& options, const ProviderList& providers)
      : options_(options),
        plans_(list_cases(options.selection, providers)),
        case_options_{
            options.mode,
            {std::chrono::duration<double>(options.timeout_seconds), InterruptionGuard::requested, options.isolate},
            options.metamorphic,
            options.measure},
        machine_(read_environment()),
        known_(KnownFailures::load(
            options.known.empty() ? KnownFailures::default_file() : std::filesystem::path(options.known),
            utc_now().substr(0, 10))),
        progress_(options.progress, count_cases(), total_work()) {}

  ExitCode execute() {
    if (measures(options_.mode)) ceilings_ = measure_ceilings_in_child(case_options_.limits);
    header_ = report_header(options_, machine_, ceilings_);
    open_journal();
    note_expired();
    for (const PlannedProblem& plan : plans_) {
      if (InterruptionGuard::requested()) break;
      plan.problem.visit([&](const auto& problem) { run_problem(plan, problem); });
    }
    progress_.finish();
    if (measures(options_.mode)) launch_again();
    return conclude();
  }

 private:
  [[nodiscard]] int count_cases() const {
    std::size_t cases = 0;
    for (const PlannedProblem& plan : plans_) cases += plan.providers.size();
    return static_cast<int>(cases);
  }

  [[nodiscard]] static double work_of(const DecodeProblem& problem) {
    // Arithmetic dominates large cases, process start and measuring time small ones.
    constexpr double kFixedWork = 1e9;
    return kFixedWork + static_cast<double>(cost_of(problem, DecodeLayout(problem, DataType::e4m3fn)).flops);
  }

  [[nodiscard]] double total_work() const {
    double work = 0;
    for (const PlannedProblem& plan : plans_) {
      work += static_cast<double>(plan.providers.size()) *
              plan.problem.visit([](const auto& problem) { return work_of(problem); });
    }
    return work;
  }

  void note_expired() {
    if (options_.progress == ProgressMode::never) return;
    for (const KnownFailure* entry : known_.expired()) {
      progress_.note(fmt::format("known failure expired on {}: {} ({}, {})", entry->expires, entry->problem,
                                 entry->reason, entry->source));
    }
  }

  void open_journal() {
    if (options_.out.empty()) return;
    journal_path_ = std::filesystem::path(options_.out).replace_extension(".jsonl");
    journal_ = options_.resume && std::filesystem::exists(journal_path_)
                   ? reports::JournalWriter::resume(journal_path_, header_)
                   : reports::JournalWriter::create(journal_path_, header_);
  }

  void run_problem(const PlannedProblem& plan, const DecodeProblem& problem) {
    // Other contents than those that are measured are for checks alone.
    const DecodeProblem as_run =
        checks_fully(options_.mode) ? problem : problem.with_distribution(problem.fields().distribution);
    CaseRunner runner(as_run, case_options_, ceilings_);
    for (const Provider* provider : plan.providers) {
      if (InterruptionGuard::requested()) return;
      const std::string key = case_key(plan.word, *provider);
      if (journal_ && journal_->done().contains(key)) {
        launches_.emplace(key, journal_->done().at(key));
        progress_.end(key, "done before", 0);
        continue;
      }
      progress_.begin(key);
      Json record = case_identity(plan, *provider, options_.mode);
      if (options_.metamorphic) record["repro"] = record["repro"].get<std::string>() + " --metamorphic";
      const std::optional<Json> outcome = runner.run(*provider);
      if (!outcome) return;  // interrupted: the case was not run
      record.update(*outcome);
      apply_known(problem, *provider, record);
      keep(record, work_of(problem));
    }
  }

  void apply_known(const DecodeProblem& problem, const Provider& provider, Json& record) const {
    const std::string variant = record.contains("kernel") ? record["kernel"].at("variant").get<std::string>() : "";
    known_.apply({problem, provider.name(), provider.device(), variant, machine_.gpu}, record);
  }

  void keep(const Json& record, double work) {
    const auto verdict = record.at("verdict").get<std::string>();
    if (journal_) {
      journal_->append(record);
    } else {
      cases_.push_back(record);
    }
    launches_.emplace(record.at("key").get<std::string>(), record.contains("performance") ? 1 : 0);
    progress_.end(record.at("key").get<std::string>(), verdict, work);
    const bool bad =
        verdict != "passed" && verdict != "skipped" && verdict != "unimplemented" && verdict != "known_failure";
    if (bad && options_.progress != ProgressMode::never) progress_.note(note_on(verdict, record));
  }

  // The further launches of every case, in rounds over all of them: those of one case are then spread over the whole
  // run, and a drift of the machine is part of their spread rather than of the difference to another run.
  void launch_again() {
    struct Launch {
      const PlannedProblem* plan;
      const Provider* provider;
      int round;
    };
    std::vector<Launch> launches;
    std::mt19937_64 random(options_.selection.seed.value_or(0));
    for (int round = 2; round <= options_.launches; ++round) {
      std::vector<Launch> of_round;
      for (const PlannedProblem& plan : plans_) {
        for (const Provider* provider : plan.providers) {
          const auto done = launches_.find(case_key(plan.word, *provider));
          // Only what was measured once is measured again; on resuming, some of it was.
          const bool measured = done != launches_.end() && done->second > 0;
          if (measured && done->second < static_cast<std::size_t>(round)) of_round.push_back({&plan, provider, round});
        }
      }
      shuffle(of_round, random);
      launches.insert(launches.end(), of_round.begin(), of_round.end());
    }
    if (launches.empty()) return;
    const auto count = static_cast<int>(launches.size());
    Progress progress(options_.progress, count, count, stderr, "launches");
    for (const auto& [plan, provider, round] : launches) {
      const std::string key = case_key(plan->word, *provider);
      if (InterruptionGuard::requested()) return;
      if (launches_.at(key) == 0) continue;  // an earlier launch failed
      progress.begin(fmt::format("launch {} of {}", round, key));
      const ChildResult child = plan->problem.visit([&, provider = provider](const auto& problem) {
        return run_in_child([&] { return measure_launch(problem, *provider, options_.measure); }, case_options_.limits);
      });
      if (child.end == ChildResult::End::interrupted) return;
      keep_launch(key, child);
      progress.end(key, child.end == ChildResult::End::finished ? "passed" : "crashed", 1);
    }
  }

  void keep_launch(const std::string& key, const ChildResult& child) {
    const auto in_memory = std::find_if(cases_.begin(), cases_.end(),
                                        [&](const Json& entry) { return entry.at("key").get<std::string>() == key; });
    if (child.end == ChildResult::End::finished) {
      const std::vector<double> samples = reports::parse_launch(child.payload).samples_ns;
      journal_ ? journal_->append_launch(key, samples) : reports::add_launch(*in_memory, samples);
      ++launches_.at(key);
      return;
    }
    const std::string failure = fmt::format("launch {} {}", launches_.at(key) + 1, describe(child));
    journal_ ? journal_->append_failure(key, failure) : reports::add_failure(*in_memory, failure);
    launches_.at(key) = 0;
    if (options_.progress != ProgressMode::never) progress_.note(fmt::format("crashed: {}\n  {}", failure, key));
  }

  static std::string note_on(const std::string& verdict, const Json& record) {
    std::string note = fmt::format("{}: {}\n", verdict, record.at("reason").at("message").get<std::string>());
    if (record.contains("locus")) {
      note += fmt::format("  looks like: {}\n", record["locus"].at("message").get<std::string>());
    }
    return note + "  " + record.at("repro").get<std::string>();
  }

  ExitCode conclude() {
    const bool interrupted = InterruptionGuard::requested();
    reports::RunEnd end;
    end.ended_utc = utc_now();
    end.complete = !interrupted;
    end.elapsed_s = std::chrono::duration<double>(Clock::now() - begin_).count();
    const Json document = journal_ ? reports::fold(journal_path_, end) : reports::assemble(header_, cases_, end);
    const reports::Report report = reports::parse_report(document);
    if (!options_.out.empty()) {
      reports::write_report(options_.out, document);
      // The journal of an interrupted run is what --resume continues.
      if (!interrupted) std::filesystem::remove(journal_path_);
    }
    if (!options_.junit.empty()) reports::write_file(options_.junit, reports::junit_xml(report));
    fmt::print("{}", reports::summary_text(report, {terminal_columns(), stdout_is_terminal()}));
    if (!options_.out.empty()) fmt::print("report         {}\n", options_.out);
    return exit_code(report, interrupted);
  }

  static ExitCode exit_code(const reports::Report& report, bool interrupted) {
    using reports::Verdict;
    if (interrupted) return ExitCode::interrupted;
    for (const Verdict bad :
         {Verdict::failed, Verdict::crashed, Verdict::timeout, Verdict::mistrusted, Verdict::unexpected_pass}) {
      if (report.counts.of(bad) > 0) return ExitCode::wrong_result;
    }
    return ExitCode::ok;
  }

  const RunOptions& options_;
  std::vector<PlannedProblem> plans_;
  CaseOptions case_options_;
  Environment machine_;
  KnownFailures known_;
  Progress progress_;
  Clock::time_point begin_ = Clock::now();
  std::vector<Ceiling> ceilings_;
  Json header_;
  std::filesystem::path journal_path_;
  std::optional<reports::JournalWriter> journal_;
  std::vector<Json> cases_;                      // where there is no journal
  std::map<std::string, std::size_t> launches_;  // measured, by key
};

}  // namespace

ExitCode run(const RunOptions& options, const ProviderList& providers) {
  const InterruptionGuard guard;
  return Run(options, providers).execute();
}

}  // namespace mla::harness
