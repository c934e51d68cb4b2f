#include "harness/runner/shrink.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "harness/core/error.hpp"
#include "harness/problem/decode_fields.hpp"
#include "harness/runner/case_runner.hpp"
#include "harness/runner/interruption.hpp"

namespace mla::harness {

namespace {

using Fields = DecodeProblem::Fields;
using Json = nlohmann::ordered_json;
using Clock = std::chrono::steady_clock;

// Failures that differ only in which check noticed are one: the smaller a problem, the fewer checks see the fault.
std::string family_of(const std::string& kind) {
  const bool numbers =
      kind.ends_with("_bound") || kind.ends_with("spread") || kind == "slope" || kind.starts_with("probe");
  return numbers ? "numbers" : kind;
}

bool is_wrong(const std::string& verdict) {
  return verdict == "failed" || verdict == "crashed" || verdict == "timeout";
}

// Empty where the provider is not at fault: it did not run, or its result is right. Only what ran has an input digest;
// a time limit that inputs and oracle exceeded on a busy machine says nothing of the provider.
std::string fault_of(const Json& outcome) {
  if (!outcome.contains("input_digest")) return "";
  const auto verdict = outcome.at("verdict").get<std::string>();
  return is_wrong(verdict) ? verdict + ":" + family_of(outcome.at("reason").at("kind").get<std::string>()) : "";
}

// What shrinking makes smaller, the first member before the second.
std::pair<std::int64_t, std::size_t> size_of(const DecodeProblem& problem) {
  std::int64_t work = problem.batch();
  for (int request = 0; request < problem.batch(); ++request) {
    work += problem.fields().heads * (problem.q_len(request) + 1) * (problem.kv_len(request) + 1);
  }
  return {work, problem.word().size()};
}

std::optional<DecodeProblem> valid(Fields fields) {
  try {
    return DecodeProblem(std::move(fields));
  } catch (const UsageError&) {
    return std::nullopt;
  }
}

// One length a request.
std::vector<std::int64_t> spread_out(const std::vector<std::int64_t>& list, int batch) {
  return list.size() == 1 ? std::vector<std::int64_t>(static_cast<std::size_t>(batch), list.front()) : list;
}

class Shrinker {
 public:
  Shrinker(const DecodeProblem& problem, const Provider& provider, const ShrinkOptions& options)
      : provider_(provider),
        options_(options),
        end_(Clock::now() +
             std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(options.budget_seconds))),
        case_options_{RunMode::check,
                      {std::chrono::duration<double>(options.timeout_seconds), [this] { return out_of_time(); },
                       options.isolate}},
        best_(problem) {}

  ShrinkResult run() {
    outcome_ = run_case(best_);
    if (!outcome_) return result();
    fault_ = fault_of(*outcome_);
    if (fault_.empty()) refuse();
    say("fails", best_);
    while (!out_of_time()) {
      const auto before = size_of(best_);
      reduce_batch();
      reduce_lengths();
      reduce_heads();
      reduce_queries();
      simplify();
      if (size_of(best_) == before) break;
    }
    return result();
  }

 private:
  [[nodiscard]] bool out_of_time() const { return InterruptionGuard::requested() || Clock::now() >= end_; }

  [[noreturn]] void refuse() const {
    const auto verdict = outcome_->at("verdict").get<std::string>();
    const Json& reason = outcome_->at("reason");
    const std::string why = reason.is_null() ? "" : ": " + reason.at("message").get<std::string>();
    throw UsageError(
        "problem", best_.word(),
        fmt::format("a problem that fails on {} is needed, and this one is {}{}", provider_.name(), verdict, why));
  }

  [[nodiscard]] ShrinkResult result() const {
    return {best_, outcome_ ? *outcome_ : Json({{"verdict", "timeout"}, {"reason", nullptr}}), tries_, !out_of_time()};
  }

  std::optional<Json> run_case(const DecodeProblem& problem) {
    ++tries_;
    try {
      return CaseRunner(problem, case_options_, {}).run(provider_);
    } catch (const UsageError&) {
      return std::nullopt;  // a pool too small for its pages, say: no such problem
    }
  }

  void say(std::string_view what, const DecodeProblem& problem) const {
    if (options_.progress == nullptr) return;
    const double left = std::chrono::duration<double>(end_ - Clock::now()).count();
    fmt::print(options_.progress, "try {:3}  {:4.0f} s left  {} {}\n", tries_, std::max(0.0, left), what,
               problem.word());
    std::fflush(options_.progress);
  }

  // Keeps the problem with `fields` if it is smaller and fails in the same way.
  bool attempt(const Fields& fields) {
    if (out_of_time()) return false;
    const auto problem = valid(fields);
    if (!problem || !(size_of(*problem) < size_of(best_))) return false;
    std::optional<Json> outcome = run_case(*problem);
    if (!outcome || fault_of(*outcome) != fault_) return false;
    best_ = *problem;
    outcome_ = std::move(outcome);
    say("still fails", best_);
    return true;
  }

  // The smallest value in [low, high) that `set` makes fail, powers of two first, then by bisection below the first
  // that does. Need not be the smallest of all: a fault that comes and goes with the size has several.
  void minimise(std::int64_t low, std::int64_t high, const std::function<void(Fields&, std::int64_t)>& set) {
    const auto fails_with = [&](std::int64_t value) {
      Fields fields = best_.fields();
      set(fields, value);
      return attempt(fields);
    };
    std::int64_t passing = low - 1;
    std::int64_t value = low;
    while (value < high && !fails_with(value)) {
      passing = value;
      value = value < 1 ? 1 : 2 * value;
    }
    std::int64_t failing = std::min(value, high);
    while (failing - passing > 1 && !out_of_time()) {
      const std::int64_t middle = passing + (failing - passing) / 2;
      (fails_with(middle) ? failing : passing) = middle;
    }
  }

  static Fields with_requests(const DecodeProblem& problem, const std::vector<int>& requests) {
    Fields fields = problem.fields();
    fields.batch = static_cast<int>(requests.size());
    fields.q_lens.clear();
    fields.kv_lens.clear();
    for (const int request : requests) {
      fields.q_lens.push_back(problem.q_len(request));
      fields.kv_lens.push_back(problem.kv_len(request));
    }
    return fields;
  }

  static std::vector<int> range(int begin, int end) {
    std::vector<int> list;
    for (int i = begin; i < end; ++i) list.push_back(i);
    return list;
  }

  // One request alone, then halves, then one fewer.
  void reduce_batch() {
    constexpr int kMostAlone = 32;
    const DecodeProblem start = best_;
    for (int request = 0; request < std::min(start.batch(), kMostAlone); ++request) {
      if (attempt(with_requests(start, {request}))) return;
    }
    while (best_.batch() > 1) {
      const int half = best_.batch() / 2;
      if (!attempt(with_requests(best_, range(0, half))) &&
          !attempt(with_requests(best_, range(half, best_.batch())))) {
        break;
      }
    }
    for (int request = std::min(best_.batch(), kMostAlone) - 1; request >= 0 && best_.batch() > 1; --request) {
      std::vector<int> rest = range(0, best_.batch());
      rest.erase(rest.begin() + request);
      attempt(with_requests(best_, rest));
    }
  }

  void reduce_lengths() {
    if (best_.fields().kv_lens.size() == 1) {
      minimise(1, best_.fields().kv_lens.front(), [](Fields& f, std::int64_t value) { f.kv_lens = {value}; });
      return;
    }
    for (int request = 0; request < best_.batch(); ++request) {
      minimise(0, best_.kv_len(request), [this, request](Fields& fields, std::int64_t value) {
        fields.kv_lens = spread_out(fields.kv_lens, best_.batch());
        fields.kv_lens[static_cast<std::size_t>(request)] = value;
      });
    }
  }

  void reduce_heads() {
    minimise(1, best_.fields().heads, [](Fields& f, std::int64_t value) { f.heads = static_cast<int>(value); });
  }

  void reduce_queries() {
    if (best_.fields().q_lens.size() == 1) {
      minimise(1, best_.fields().q_lens.front(), [](Fields& f, std::int64_t value) { f.q_lens = {value}; });
      return;
    }
    for (int request = 0; request < best_.batch(); ++request) {
      minimise(0, best_.q_len(request), [this, request](Fields& fields, std::int64_t value) {
        fields.q_lens = spread_out(fields.q_lens, best_.batch());
        fields.q_lens[static_cast<std::size_t>(request)] = value;
      });
    }
  }

  // Fields that have nothing to do with the size, at their defaults one by one: what remains in the word matters.
  void simplify() {
    simplify_types();
    const Fields defaults = default_decode_fields(best_.fields().q_type, best_.fields().kv_type);
    for (const DecodeField& field : decode_fields()) {
      static constexpr std::string_view kSizes[] = {"h", "q", "b", "kv", "dtype"};
      if (std::find(std::begin(kSizes), std::end(kSizes), field.name) != std::end(kSizes)) continue;
      Fields fields = best_.fields();
      field.parse(fields, field.print(defaults));
      attempt(fields);
    }
  }

  void simplify_types() {
    Fields fields = best_.fields();
    const Fields plain;
    fields.q_type = plain.q_type;
    fields.q_scale = plain.q_scale;
    Fields bf16 = fields;
    bf16.kv_type = plain.kv_type;
    bf16.kv_scale = plain.kv_scale;
    if (!attempt(bf16)) attempt(fields);
  }

  const Provider& provider_;
  const ShrinkOptions& options_;
  Clock::time_point end_;
  CaseOptions case_options_;
  DecodeProblem best_;
  std::optional<Json> outcome_;
  std::string fault_;
  int tries_ = 0;
};

}  // namespace

ShrinkResult shrink(const DecodeProblem& problem, const Provider& provider, const ShrinkOptions& options) {
  const InterruptionGuard guard;
  return Shrinker(problem, provider, options).run();
}

}  // namespace mla::harness
