#include "harness/runner/decode_case.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <cstring>
#include <nlohmann/json.hpp>
#include <optional>

#include "harness/checks/check_decode.hpp"
#include "harness/checks/detectability.hpp"
#include "harness/checks/localise.hpp"
#include "harness/checks/probes.hpp"
#include "harness/checks/to_json.hpp"
#include "harness/inputs/output_row.hpp"
#include "harness/runner/cost.hpp"
#include "harness/runner/metamorphic.hpp"
#include "harness/runner/performance_record.hpp"
#include "reference/decode.hpp"

namespace mla::harness {

namespace {

using Json = nlohmann::ordered_json;
using Clock = std::chrono::steady_clock;

// Launches beyond the necessary ones, for repeats and for probes each, go on for this long.
constexpr double kExtraLaunchMs = 100;
constexpr int kFewestRuns = 2;
constexpr int kMostRuns = 8;
constexpr int kFewestProbes = 2;

double ms_since(Clock::time_point begin) {
  return std::chrono::duration<double, std::milli>(Clock::now() - begin).count();
}

Json metamorphic_json(const std::vector<RelationResult>& results) {
  Json list = Json::array();
  for (const RelationResult& result : results) {
    const bool number = !result.skipped && std::isfinite(result.max_ratio);
    list.push_back({{"relation", result.relation},
                    {"verdict", result.skipped ? "skipped" : name_of(result.verdict)},
                    {"message", result.message},
                    {"max_ratio", number ? Json(result.max_ratio) : Json()},
                    {"bitwise", result.skipped ? Json() : Json(result.bitwise)}});
  }
  return list;
}

// What lies in the arena, in the order in which it was taken.
struct SharedDecode {
  DecodeInputBuffers inputs;                     // contents of the first distribution
  std::vector<reference::DecodeOracle> oracles;  // of each distribution
};

SharedDecode take_shared(const DecodeProblem& problem, const DecodeLayout& layout, Arena& arena) {
  SharedDecode shared;
  shared.inputs = layout.take_inputs(arena);
  const int heads = problem.fields().heads;
  for (std::size_t i = 0; i <= problem.fields().also.size(); ++i) {
    const Buffer memory =
        arena.take(fmt::format("oracle {}", i), reference::DecodeOracle::bytes(problem.total_q(), heads));
    shared.oracles.push_back(reference::DecodeOracle::over(memory.data(), problem.total_q(), heads));
  }
  return shared;
}

// One provider's case, step by step. Each step either lets the next one follow or settles the verdict.
class DecodeCaseRun {
 public:
  explicit DecodeCaseRun(const DecodeCaseContext& context)
      : context_(context),
        shared_arena_(Arena::map(context.arena_descriptor, Arena::Access::private_copy)),
        shared_(take_shared(context.problem, context.layout, shared_arena_)),
        output_arena_(Arena::create(context.layout.output_bytes())),
        outputs_(context.layout.take_outputs(output_arena_)) {}

  Json record() {
    try {
      prepare();
      if (check_first() && check_relations() && (!checks_fully(context_.mode) || check_fully())) {
        record_["verdict"] = "passed";
        if (measures(context_.mode)) measure();
      }
    } catch (const std::exception& error) {
      settle("failed", "exception", error.what());
    }
    record_["elapsed_ms"] = elapsed_;
    return record_;
  }

 private:
  // Adds the time of `work` to a stage; returns what it returns.
  template <class Work>
  auto timed(const char* stage, const Work& work) {
    const auto begin = Clock::now();
    struct Stop {
      Json& total;
      Clock::time_point begin;
      ~Stop() { total = (total.is_number() ? total.get<double>() : 0.0) + ms_since(begin); }
    } stop{elapsed_[stage], begin};
    return work();
  }

  bool settle(std::string_view verdict, std::string_view kind, std::string_view message) {
    record_["verdict"] = verdict;
    record_["reason"] = {{"kind", kind}, {"message", message}};
    return false;
  }

  void prepare() {
    timed("prepare", [this] {
      execution_ = context_.provider.prepare({context_.problem, context_.layout, shared_.inputs, outputs_});
    });
    const KernelInfo kernel = execution_->kernel();
    record_["kernel"] = {{"name", kernel.name}, {"variant", kernel.variant}, {"digest", kernel.digest}};
  }

  void run_poisoned(Poison poison = Poison::nan) {
    timed("run", [&] {
      poison_outputs(outputs_, poison);
      execution_->run();
      execution_->fetch();
    });
  }

  // The first distribution's numbers, and that the inputs are still what they were.
  bool check_first() {
    const auto begin = Clock::now();
    run_poisoned();
    first_run_ms_ = ms_since(begin);
    return timed("check", [this] {
      const DecodeCheck check = check_against(context_.problem, shared_.oracles.front());
      record_["correctness"] = correctness_json(check, execution_->precision());
      record_["safety"] = safety_json(check);
      bool passed = check.passed() || settle("failed", check.failure_kind(), check.message());
      if (!passed) add_locus(context_.problem, shared_.oracles.front());
      // The provider holds a private copy of the inputs: a write into them shows here and nowhere else.
      if (checks_fully(context_.mode)) {
        const bool changed = inputs_changed();
        record_["safety"]["inputs_unchanged"] = !changed;
        if (changed && passed) {
          passed = settle("failed", "inputs_changed", "the provider wrote into q, kv or the block table");
        }
      }
      return passed;
    });
  }

  [[nodiscard]] DecodeCheck check_against(const DecodeProblem& problem, const reference::DecodeOracle& oracle) const {
    return check_decode(problem, context_.layout, oracle, outputs_, execution_->precision());
  }

  void add_locus(const DecodeProblem& problem, const reference::DecodeOracle& oracle) {
    const auto locus = localise(problem, context_.layout.bind(shared_.inputs), oracle, context_.layout.bind(outputs_),
                                execution_->precision());
    if (locus) record_["locus"] = {{"kind", locus->kind}, {"message", locus->message}};
  }

  // The probes spell which token it is.
  void add_locus(const ProbeCheck& probes) {
    for (const ProbeFault& fault : probes.faults()) {
      if (fault.finding.empty()) continue;
      record_["locus"] = {{"kind", "token"},
                          {"message", fmt::format("request {}, token {}, head {} in probe {}: {}", fault.request,
                                                  fault.token, fault.head, name_of(fault.probe), fault.finding)}};
      return;
    }
  }

  // While the inputs still hold the first distribution and the outputs the provider's answer.
  bool check_relations() {
    if (!context_.metamorphic) return true;
    return timed("metamorphic", [this] {
      const DecodeCase base{context_.problem, context_.layout, shared_.inputs, outputs_};
      const Precision precision = execution_->precision();
      const std::vector<RelationResult> results =
          check_metamorphic({base, shared_.oracles.front(), context_.provider, precision}, *execution_);
      record_["metamorphic"] = metamorphic_json(results);
      for (const RelationResult& result : results) {
        if (result.verdict != TierVerdict::failed) continue;
        return settle("failed", "metamorphic", result.relation + ": " + result.message);
      }
      return true;
    });
  }

  [[nodiscard]] bool inputs_changed() const {
    for (const Buffer* buffer : shared_.inputs.all()) {
      if (check_canary(*buffer).damaged) return true;
    }
    return digest(context_.problem, context_.layout, shared_.inputs) != context_.input_digest;
  }

  // From here on the same buffers get other contents: an answer kept from before is a wrong one.
  bool check_fully() {
    timed("check", [this] {
      detected_ = detectability(context_.problem, context_.layout.bind(shared_.inputs), shared_.oracles.front(),
                                execution_->precision());
    });
    const bool passed = check_repeats() && check_other_distributions() && check_probes() && check_detectability();
    timed("inputs", [this] {
      shared_arena_.discard_changes();
      execution_->refresh_inputs();
    });
    return passed;
  }

  // A kernel that races may be right once: it must give the same bits again, whatever the outputs held. The last repeat
  // runs with guard pages around all buffers, where the provider works in the harness's own memory.
  bool check_repeats() {
    // Of all runs, the one that was checked included.
    const int repeats =
        static_cast<int>(std::clamp<double>(kExtraLaunchMs / std::max(first_run_ms_, 1e-3), kFewestRuns, kMostRuns));
    timed("check", [this] { keep_result(); });
    int differing = 0;
    std::optional<CheckFailure> damage;
    for (int repeat = 1; repeat < repeats; ++repeat) {
      std::optional<GuardPages> guard;
      if (repeat + 1 == repeats && context_.provider.device() == "cpu") {
        // Poisoning arms canaries, which lie where the guard pages are.
        poison_outputs(outputs_, poison_of(repeat));
        guard.emplace(all_buffers());
        timed("run", [this] { execution_->run(); });
        guard.reset();
      } else {
        run_poisoned(poison_of(repeat));
      }
      timed("check", [&] {
        if (!result_is_kept()) ++differing;
        if (!damage) damage = output_damage(outputs_);
      });
    }
    Json& safety = record_["safety"];
    safety["bitwise_repeats"] = repeats;
    safety["bitwise_equal"] = differing == 0;
    if (damage) {
      safety["canary"] = damage->message;
      return settle("failed", damage->kind, damage->message);
    }
    if (differing == 0) return true;
    return settle("failed", "not_repeatable", fmt::format("{} of {} repeats gave other bits", differing, repeats));
  }

  static Poison poison_of(int repeat) { return static_cast<Poison>(repeat % kPoisons); }

  [[nodiscard]] std::vector<const Buffer*> all_buffers() const {
    std::vector<const Buffer*> buffers = {&outputs_.out, &outputs_.lse};
    const auto inputs = shared_.inputs.all();
    buffers.insert(buffers.end(), inputs.begin(), inputs.end());
    return buffers;
  }

  static constexpr std::size_t kOutRowBytes = kValueDim * sizeof(Bfloat16);
  static constexpr std::size_t kResultRowBytes = kOutRowBytes + sizeof(float);

  // Whether `visit` holds for each row and its offset in a copy of both outputs that has no gaps.
  template <class Visit>
  bool every_row(const Visit& visit) const {
    const DecodeOutputs views = context_.layout.bind(outputs_);
    std::size_t offset = 0;
    for (std::int64_t token = 0; token < context_.problem.total_q(); ++token) {
      for (int head = 0; head < context_.problem.fields().heads; ++head) {
        if (!visit(output_row(views, token, head), offset)) return false;
        offset += kResultRowBytes;
      }
    }
    return true;
  }

  void keep_result() {
    first_result_.resize(static_cast<std::size_t>(context_.problem.total_q() * context_.problem.fields().heads) *
                         kResultRowBytes);
    every_row([this](const OutputRow& row, std::size_t offset) {
      std::memcpy(&first_result_[offset], row.out, kOutRowBytes);
      std::memcpy(&first_result_[offset + kOutRowBytes], &row.lse, sizeof row.lse);
      return true;
    });
  }

  [[nodiscard]] bool result_is_kept() const {
    return every_row([this](const OutputRow& row, std::size_t offset) {
      return std::memcmp(&first_result_[offset], row.out, kOutRowBytes) == 0 &&
             std::memcmp(&first_result_[offset + kOutRowBytes], &row.lse, sizeof row.lse) == 0;
    });
  }

  // Whether out, if not lse, is what it was on the first contents.
  [[nodiscard]] bool out_is_kept() const {
    return every_row([this](const OutputRow& row, std::size_t offset) {
      return std::memcmp(&first_result_[offset], row.out, kOutRowBytes) == 0;
    });
  }

  bool check_other_distributions() {
    const std::vector<Distribution>& also = context_.problem.fields().also;
    for (std::size_t i = 0; i < also.size(); ++i) {
      const DecodeProblem problem = context_.problem.with_distribution(also[i]);
      timed("inputs", [&] {
        fill_inputs(problem, context_.layout, shared_.inputs, i % 2 == 0 ? Unreadable::large : Unreadable::tiny);
        execution_->refresh_inputs();
      });
      run_poisoned();
      const bool passed = timed("check", [&] { return check_distribution(problem, shared_.oracles[i + 1]); });
      if (!passed) return false;
    }
    return true;
  }

  bool check_distribution(const DecodeProblem& problem, const reference::DecodeOracle& oracle) {
    const DecodeCheck check = check_against(problem, oracle);
    const std::string name(name_of(problem.fields().distribution));
    record_["correctness"]["distributions"][name] = distribution_json(check);
    if (!check.passed()) {
      record_["correctness"]["distributions"][name]["worst"] =
          correctness_json(check, execution_->precision()).at("worst");
      if (out_is_kept()) return settle_stale(name);
      add_locus(problem, oracle);
      return settle("failed", check.failure_kind(), fmt::format("on {} contents: {}", name, check.message()));
    }
    detected_.merge(detectability(problem, context_.layout.bind(shared_.inputs), oracle, execution_->precision()));
    return true;
  }

  // The outputs were poisoned in between, so this is an answer kept, not one left behind.
  bool settle_stale(const std::string& contents) {
    return settle(
        "failed", "stale_answer",
        fmt::format("on {} contents: the answer is that of the {} contents in the same buffers before, bit for "
                    "bit",
                    contents, name_of(context_.problem.fields().distribution)));
  }

  bool check_probes() {
    ProbeInputs inputs(context_.problem, context_.layout, shared_.inputs);
    ProbeCheck probes(context_.problem, context_.layout, inputs, execution_->precision());
    const auto begin = Clock::now();
    for (int launch = 0; launch < inputs.launches(); ++launch) {
      if (launch >= kFewestProbes && ms_since(begin) > kExtraLaunchMs) break;
      timed("inputs", [&] {
        inputs.fill(launch);
        execution_->refresh_inputs();
      });
      run_poisoned();
      timed("check", [&] { probes.add(launch, outputs_); });
    }
    record_["correctness"]["probes"] = probes_json(probes);
    if (!probes.passed()) {
      const auto failures = probes.failures();
      add_locus(probes);
      return settle("failed", failures.front().kind, message_of(failures));
    }
    detected_.merge(probe_detectability(context_.problem, inputs.pattern(), execution_->precision()));
    return true;
  }

  bool check_detectability() {
    record_["correctness"]["detectability"] = detectability_json(detected_);
    const std::vector<SmallFault> hidden = detected_.hidden();
    if (hidden.empty()) return true;
    return settle("mistrusted", "undetectable", hidden_text(detected_));
  }

  void measure() {
    timed("measure", [this] {
      const DecodeCase problem_case{context_.problem, context_.layout, shared_.inputs, outputs_};
      Measurement measurement =
          mla::harness::measure(*execution_, problem_case, context_.provider.device(), context_.measure);
      measurement.stages = execution_->stage_times();
      record_["performance"] =
          performance_json(measurement, cost_of(context_.problem, context_.layout), context_.ceilings);
    });
  }

  const DecodeCaseContext& context_;
  Arena shared_arena_;
  SharedDecode shared_;
  Arena output_arena_;
  DecodeOutputBuffers outputs_;
  std::unique_ptr<DecodeExecution> execution_;
  double first_run_ms_ = 0;
  std::vector<std::byte> first_result_;  // on the contents of the first distribution
  Detectability detected_;
  Json record_ = {{"verdict", "failed"}, {"reason", nullptr}};
  Json elapsed_ = Json::object();
};

}  // namespace

ArenaNeed decode_arena_need(const DecodeProblem& problem, const DecodeLayout& layout) {
  const std::size_t oracle =
      Arena::footprint(reference::DecodeOracle::bytes(problem.total_q(), problem.fields().heads)) *
      (1 + problem.fields().also.size());
  // The outputs live in the child's own arena but in the same memory.
  return {layout.input_bytes() + oracle, layout.resident_bytes() + oracle + layout.output_bytes()};
}

std::string prepare_decode(const DecodeProblem& problem, const DecodeLayout& layout, Arena& arena) {
  const SharedDecode shared = take_shared(problem, layout, arena);
  double inputs_ms = 0;
  double reference_ms = 0;
  const auto make = [&](const DecodeProblem& one, const reference::DecodeOracle& oracle) {
    auto begin = Clock::now();
    fill_inputs(one, layout, shared.inputs);
    inputs_ms += ms_since(begin);
    begin = Clock::now();
    reference::decode(layout.bind(shared.inputs), oracle);
    reference_ms += ms_since(begin);
  };
  // The first distribution last: its contents stay.
  const std::vector<Distribution>& also = problem.fields().also;
  for (std::size_t i = 0; i < also.size(); ++i) make(problem.with_distribution(also[i]), shared.oracles[i + 1]);
  make(problem, shared.oracles.front());

  const auto begin = Clock::now();
  Json result{{"digest", digest(problem, layout, shared.inputs)}};
  result["inputs_ms"] = inputs_ms + ms_since(begin);
  result["reference_ms"] = reference_ms;
  return result.dump();
}

std::string run_decode_case(const DecodeCaseContext& context) {
  return DecodeCaseRun(context).record().dump(-1, ' ', false, Json::error_handler_t::replace);
}

}  // namespace mla::harness
