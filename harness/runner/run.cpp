#include "harness/runner/run.hpp"

#include <fmt/format.h>

#include <chrono>
#include <filesystem>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <utility>

#include "harness/core/terminal.hpp"
#include "harness/inputs/decode_inputs.hpp"
#include "harness/runner/case_record.hpp"
#include "harness/runner/ceiling_run.hpp"
#include "harness/runner/child_process.hpp"
#include "harness/runner/cost.hpp"
#include "harness/runner/decode_case.hpp"
#include "harness/runner/environment.hpp"
#include "harness/runner/interruption.hpp"
#include "reports/export/junit.hpp"
#include "reports/journal.hpp"
#include "reports/summary.hpp"
#include "reports/write.hpp"

namespace mla::harness {

namespace {

using Json = nlohmann::ordered_json;
using Clock = std::chrono::steady_clock;

// A problem's inputs and oracle, ready for every provider with the same fp8 encoding; or why there are none.
struct Preparation {
  std::optional<Arena> arena;
  Json result;           // of prepare_decode
  Json failure;          // verdict and reason for every case of the problem, null where all went well
  bool charged = false;  // its time stands in a case's record
};

Json verdict_json(std::string_view verdict, std::string_view kind, std::string_view message) {
  return {{"verdict", verdict}, {"reason", {{"kind", kind}, {"message", message}}}};
}

// The verdict on a case whose process did not come back with a record.
Json verdict_of_lost_child(const ChildResult& result, std::string_view what) {
  const std::string message = fmt::format("{} {}", what, describe(result));
  if (result.end == ChildResult::End::timed_out) return verdict_json("timeout", "timeout", message);
  return verdict_json("crashed", result.end == ChildResult::End::signalled ? "signal" : "exit", message);
}

class Run {
 public:
  Run(const RunOptions& options, const ProviderList& providers)
      : options_(options),
        plans_(list_cases(options.selection, providers)),
        limits_{std::chrono::duration<double>(options.timeout_seconds), InterruptionGuard::requested, options.isolate},
        progress_(options.progress, count_cases(), total_work()) {}

  ExitCode execute() {
    if (measures(options_.mode)) ceilings_ = measure_ceilings_in_child(limits_);
    header_ = report_header(options_, read_environment(), ceilings_);
    open_journal();
    for (const PlannedProblem& plan : plans_) {
      if (InterruptionGuard::requested()) break;
      plan.problem.visit([&](const auto& problem) { run_problem(plan, problem); });
    }
    progress_.finish();
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
    // Keyed by encoding: a problem's plain `fp8` is another problem on a target with the other encoding.
    std::map<DataType, Preparation> preparations;
    for (const Provider* provider : plan.providers) {
      if (InterruptionGuard::requested()) return;
      const std::string key = case_key(plan.word, *provider);
      if (journal_ && journal_->done().contains(key)) {
        progress_.end(key, "done before", 0);
        continue;
      }
      progress_.begin(key);
      Json record = case_identity(plan, *provider, options_.mode);
      const std::optional<Json> outcome = run_case(as_run, *provider, preparations);
      if (!outcome) return;  // interrupted: the case was not run
      record.update(*outcome);
      keep(record, work_of(problem));
    }
  }

  // The part of the record that running determines; none where the user interrupted.
  std::optional<Json> run_case(const DecodeProblem& problem, const Provider& provider,
                               std::map<DataType, Preparation>& preparations) {
    const Support support = provider.supports(problem);
    if (!support.ok()) {
      const bool unimplemented = support.reason == SkipReason::unsupported_operation;
      return verdict_json(unimplemented ? "unimplemented" : "skipped", name_of(support.reason), support.detail);
    }
    const DecodeLayout layout(problem, provider.native_fp8());
    const auto [at, is_new] = preparations.try_emplace(provider.native_fp8());
    if (is_new) at->second = prepare(problem, layout);
    Preparation& ready = at->second;
    if (InterruptionGuard::requested()) return std::nullopt;
    if (!ready.failure.is_null()) return ready.failure;

    DecodeCaseContext context{
        problem,       layout,   provider, ready.arena->descriptor(), ready.result.at("digest").get<std::string>(),
        options_.mode, ceilings_};
    const ChildResult child = run_in_child([&] { return run_decode_case(context); }, limits_);
    if (child.end == ChildResult::End::interrupted) return std::nullopt;
    Json outcome{{"input_digest", context.input_digest}};
    outcome.update(child.end == ChildResult::End::finished ? Json::parse(child.payload)
                                                           : verdict_of_lost_child(child, "the provider's process"));
    charge_preparation(outcome, ready);
    return outcome;
  }

  Preparation prepare(const DecodeProblem& problem, const DecodeLayout& layout) {
    Preparation ready;
    const ArenaNeed need = decode_arena_need(problem, layout);
    // Providers hold copies of their own; twice the need leaves them room.
    if (2 * need.resident > static_cast<std::size_t>(available_memory_bytes())) {
      ready.failure = verdict_json("skipped", name_of(SkipReason::not_enough_memory),
                                   fmt::format("{:.1f} GiB are needed for inputs, oracle and outputs, twice over",
                                               static_cast<double>(need.resident) / (1U << 30U)));
      return ready;
    }
    ready.arena = Arena::create(need.reserved);
    const ChildResult child = run_in_child([&] { return prepare_decode(problem, layout, *ready.arena); }, limits_);
    if (child.end == ChildResult::End::finished) {
      ready.result = Json::parse(child.payload);
    } else {
      ready.failure = verdict_of_lost_child(child, "the oracle's process");
    }
    return ready;
  }

  // Inputs and oracle are made once for several cases; their time is recorded with the first.
  static void charge_preparation(Json& outcome, Preparation& ready) {
    if (std::exchange(ready.charged, true)) return;
    Json elapsed{{"inputs", ready.result.at("inputs_ms")}, {"reference", ready.result.at("reference_ms")}};
    const Json of_case = outcome.value("elapsed_ms", Json::object());
    for (const auto& [stage, ms] : of_case.items()) {
      // The case's own inputs, those of its other distributions and probes, come on top.
      elapsed[stage] = ms.get<double>() + elapsed.value(stage, 0.0);
    }
    outcome["elapsed_ms"] = elapsed;
  }

  void keep(const Json& record, double work) {
    const auto verdict = record.at("verdict").get<std::string>();
    if (journal_) {
      journal_->append(record);
    } else {
      cases_.push_back(record);
    }
    progress_.end(record.at("key").get<std::string>(), verdict, work);
    const bool bad = verdict != "passed" && verdict != "skipped" && verdict != "unimplemented";
    if (bad && options_.progress != ProgressMode::never) {
      progress_.note(fmt::format("{}: {}\n  {}", verdict, record.at("reason").at("message").get<std::string>(),
                                 record.at("repro").get<std::string>()));
    }
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
  ChildLimits limits_;
  Progress progress_;
  Clock::time_point begin_ = Clock::now();
  std::vector<Ceiling> ceilings_;
  Json header_;
  std::filesystem::path journal_path_;
  std::optional<reports::JournalWriter> journal_;
  std::vector<Json> cases_;
};

}  // namespace

ExitCode run(const RunOptions& options, const ProviderList& providers) {
  const InterruptionGuard guard;
  return Run(options, providers).execute();
}

}  // namespace mla::harness
