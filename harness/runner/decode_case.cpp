#include "harness/runner/decode_case.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <nlohmann/json.hpp>

#include "harness/checks/check_decode.hpp"
#include "harness/checks/to_json.hpp"
#include "harness/runner/cost.hpp"
#include "harness/runner/performance_record.hpp"
#include "harness/timing/sample.hpp"
#include "reference/decode.hpp"

namespace mla::harness {

namespace {

using Json = nlohmann::ordered_json;
using Clock = std::chrono::steady_clock;

// Half a second a case keeps a sweep of some 50 cases within a minute; most medians are known well before.
constexpr SampleConfig kSampling{.warmup_s = 0.1, .budget_s = 0.5};

double ms_since(Clock::time_point begin) {
  return std::chrono::duration<double, std::milli>(Clock::now() - begin).count();
}

// What lies in the arena, in the order in which it was taken.
struct SharedDecode {
  DecodeInputBuffers inputs;
  reference::DecodeOracle oracle;
};

SharedDecode take_shared(const DecodeProblem& problem, const DecodeLayout& layout, Arena& arena) {
  SharedDecode shared;
  shared.inputs = layout.take_inputs(arena);
  const int heads = problem.fields().heads;
  const Buffer memory = arena.take("oracle", reference::DecodeOracle::bytes(problem.total_q(), heads));
  shared.oracle = reference::DecodeOracle::over(memory.data(), problem.total_q(), heads);
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
      if (check_once() && (!checks_fully(context_.mode) || check_repeats())) {
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
  void settle(std::string_view verdict, std::string_view kind, std::string_view message) {
    record_["verdict"] = verdict;
    record_["reason"] = {{"kind", kind}, {"message", message}};
  }

  void prepare() {
    const auto begin = Clock::now();
    execution_ = context_.provider.prepare({context_.problem, context_.layout, shared_.inputs, outputs_});
    const KernelInfo kernel = execution_->kernel();
    record_["kernel"] = {{"name", kernel.name}, {"variant", kernel.variant}, {"digest", kernel.digest}};
    elapsed_["prepare"] = ms_since(begin);
  }

  void run_poisoned() {
    poison_outputs(outputs_);
    execution_->run();
    execution_->fetch();
  }

  bool check_once() {
    auto begin = Clock::now();
    run_poisoned();
    elapsed_["run"] = ms_since(begin);

    begin = Clock::now();
    const DecodeCheck check =
        check_decode(context_.problem, context_.layout, shared_.oracle, outputs_, execution_->precision());
    record_["correctness"] = correctness_json(check, execution_->precision());
    safety_ = safety_json(check);
    safety_["inputs_unchanged"] = true;
    bool passed = check.passed();
    if (!passed) settle("failed", check.failure_kind(), check.message());
    // The provider holds a private copy of the inputs: a write into them shows here and nowhere else.
    if (checks_fully(context_.mode) && inputs_changed()) {
      safety_["inputs_unchanged"] = false;
      if (passed) settle("failed", "inputs_changed", "the provider wrote into q, kv or the block table");
      passed = false;
    }
    record_["safety"] = safety_;
    elapsed_["check"] = ms_since(begin);
    return passed;
  }

  [[nodiscard]] bool inputs_changed() const {
    for (const Buffer* buffer : shared_.inputs.all()) {
      if (check_canary(*buffer).damaged) return true;
    }
    return digest(context_.problem, context_.layout, shared_.inputs) != context_.input_digest;
  }

  // A kernel that races may be right once: it must give the same bits again, also from poisoned outputs.
  bool check_repeats() {
    constexpr int kRepeats = 2;
    const std::vector<std::byte> first = output_bytes();
    int differing = 0;
    for (int repeat = 1; repeat < kRepeats; ++repeat) {
      const auto begin = Clock::now();
      run_poisoned();
      elapsed_["run"] = elapsed_["run"].get<double>() + ms_since(begin);
      if (output_bytes() != first) ++differing;
    }
    record_["safety"]["bitwise_repeats"] = kRepeats;
    record_["safety"]["bitwise_equal"] = differing == 0;
    if (differing > 0) {
      settle("failed", "not_repeatable", fmt::format("{} of {} repeats gave other bits", differing, kRepeats));
    }
    return differing == 0;
  }

  [[nodiscard]] std::vector<std::byte> output_bytes() const {
    std::vector<std::byte> bytes;
    for (const Buffer* buffer : {&outputs_.out, &outputs_.lse}) {
      bytes.insert(bytes.end(), buffer->whole.begin(), buffer->whole.end());
    }
    return bytes;
  }

  void measure() {
    const auto begin = Clock::now();
    Measurement measurement;
    measurement.samples = sample_timed([this] { return execution_->timed_run(); }, kSampling);
    measurement.timer = execution_->timer();
    measurement.cache = execution_->cache_regime();
    measurement.stages = execution_->stage_times();
    measurement.device = context_.provider.device();
    record_["performance"] =
        performance_json(measurement, cost_of(context_.problem, context_.layout), context_.ceilings);
    elapsed_["measure"] = ms_since(begin);
  }

  const DecodeCaseContext& context_;
  Arena shared_arena_;
  SharedDecode shared_;
  Arena output_arena_;
  DecodeOutputBuffers outputs_;
  std::unique_ptr<DecodeExecution> execution_;
  Json record_ = {{"verdict", "failed"}, {"reason", nullptr}};
  Json safety_;
  Json elapsed_ = Json::object();
};

}  // namespace

ArenaNeed decode_arena_need(const DecodeProblem& problem, const DecodeLayout& layout) {
  const std::size_t oracle =
      Arena::footprint(reference::DecodeOracle::bytes(problem.total_q(), problem.fields().heads));
  // The outputs live in the child's own arena but in the same memory.
  return {layout.input_bytes() + oracle, layout.resident_bytes() + oracle + layout.output_bytes()};
}

std::string prepare_decode(const DecodeProblem& problem, const DecodeLayout& layout, Arena& arena) {
  auto begin = Clock::now();
  const SharedDecode shared = take_shared(problem, layout, arena);
  fill_inputs(problem, layout, shared.inputs);
  Json result{{"digest", digest(problem, layout, shared.inputs)}};
  result["inputs_ms"] = ms_since(begin);

  begin = Clock::now();
  reference::decode(layout.bind(shared.inputs), shared.oracle);
  result["reference_ms"] = ms_since(begin);
  return result.dump();
}

std::string run_decode_case(const DecodeCaseContext& context) {
  return DecodeCaseRun(context).record().dump(-1, ' ', false, Json::error_handler_t::replace);
}

}  // namespace mla::harness
