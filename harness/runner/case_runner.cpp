#include "harness/runner/case_runner.hpp"

#include <fmt/format.h>

#include <string>
#include <utility>

#include "harness/runner/decode_case.hpp"
#include "harness/runner/environment.hpp"

namespace mla::harness {

namespace {

using Json = nlohmann::ordered_json;

Json verdict_json(std::string_view verdict, std::string_view kind, std::string_view message) {
  return {{"verdict", verdict}, {"reason", {{"kind", kind}, {"message", message}}}};
}

// The verdict on a case whose process did not come back with a record.
Json verdict_of_lost_child(const ChildResult& result, std::string_view what) {
  const std::string message = fmt::format("{} {}", what, describe(result));
  if (result.end == ChildResult::End::timed_out) return verdict_json("timeout", "timeout", message);
  return verdict_json("crashed", result.end == ChildResult::End::signalled ? "signal" : "exit", message);
}

}  // namespace

std::optional<Json> CaseRunner::run(const Provider& provider) {
  const Support support = provider.supports(problem_);
  if (!support.ok()) {
    const bool unimplemented = support.reason == SkipReason::unsupported_operation;
    return verdict_json(unimplemented ? "unimplemented" : "skipped", name_of(support.reason), support.detail);
  }
  const DecodeLayout layout(problem_, provider.native_fp8());
  const auto [at, is_new] = preparations_.try_emplace(provider.native_fp8());
  if (is_new) at->second = prepare(layout);
  Preparation& ready = at->second;
  if (interrupted()) return std::nullopt;
  if (!ready.failure.is_null()) return ready.failure;

  const DecodeCaseContext context{problem_,
                                  layout,
                                  provider,
                                  ready.arena->descriptor(),
                                  ready.result.at("digest").get<std::string>(),
                                  options_.mode,
                                  ceilings_,
                                  options_.metamorphic,
                                  options_.measure};
  const ChildResult child = run_in_child([&] { return run_decode_case(context); }, options_.limits);
  if (child.end == ChildResult::End::interrupted) return std::nullopt;
  Json outcome{{"input_digest", context.input_digest}};
  outcome.update(child.end == ChildResult::End::finished ? Json::parse(child.payload)
                                                         : verdict_of_lost_child(child, "the provider's process"));
  charge_preparation(outcome, ready);
  return outcome;
}

CaseRunner::Preparation CaseRunner::prepare(const DecodeLayout& layout) const {
  Preparation ready;
  const ArenaNeed need = decode_arena_need(problem_, layout);
  // Providers hold copies of their own; twice the need leaves them room.
  if (2 * need.resident > static_cast<std::size_t>(available_memory_bytes())) {
    ready.failure = verdict_json("skipped", name_of(SkipReason::not_enough_memory),
                                 fmt::format("{:.1f} GiB are needed for inputs, oracle and outputs, twice over",
                                             static_cast<double>(need.resident) / (1U << 30U)));
    return ready;
  }
  ready.arena = Arena::create(need.reserved);
  const ChildResult child =
      run_in_child([&] { return prepare_decode(problem_, layout, *ready.arena); }, options_.limits);
  if (child.end == ChildResult::End::finished) {
    ready.result = Json::parse(child.payload);
  } else {
    ready.failure = verdict_of_lost_child(child, "the oracle's process");
  }
  return ready;
}

// Inputs and oracle are made once for several cases; their time is recorded with the first.
void CaseRunner::charge_preparation(Json& outcome, Preparation& ready) {
  if (std::exchange(ready.charged, true)) return;
  Json elapsed{{"inputs", ready.result.at("inputs_ms")}, {"reference", ready.result.at("reference_ms")}};
  const Json own = outcome.value("elapsed_ms", Json::object());  // named: items() refers to it
  for (const auto& [stage, ms] : own.items()) {
    // The case's own inputs, those of its other distributions and probes, come on top.
    elapsed[stage] = ms.get<double>() + elapsed.value(stage, 0.0);
  }
  outcome["elapsed_ms"] = elapsed;
}

}  // namespace mla::harness
