#include "harness/checks/probes.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <span>
#include <tuple>

#include <fmt/format.h>
#include <Eigen/Core>

#include "harness/checks/failure_text.hpp"
#include "harness/checks/probe_answer.hpp"
#include "harness/checks/row_array.hpp"
#include "harness/checks/uniform_reading.hpp"
#include "harness/inputs/output_row.hpp"

namespace mla::harness {

namespace {

using checks::ProbeAnswer;
using checks::RowArray;

constexpr double kInfinity = std::numeric_limits<double>::infinity();

// Rows that must hold the same.
struct AnswerKey {
  std::int64_t kv_len;
  std::int64_t visible;
  ProbeRow row;
  auto operator<=>(const AnswerKey&) const = default;
};

struct RowJob {
  int request;
  int row;             // of the request
  std::int64_t token;  // of the tensors
  int head;
  ProbeRow probe;
  const ProbeAnswer* answer;  // null where the row sees nothing
  std::int64_t visible;
};

struct ElementFault {
  std::optional<int> dim;
  double got = 0;
  double want = 0;
  double ratio = 0;
};

using RowFaults = std::array<ElementFault, kProbes>;  // the worst element of each probe that the row is part of

// Infinite where one is a NaN or infinite and the other not the same.
double error_of(double got, double want) {
  const double error = std::abs(got - want);
  return got == want ? 0 : std::isfinite(error) ? error : kInfinity;
}

// Dimensions [begin, end) of a row, which are a probe's.
struct ProbePart {
  ProbeId probe;
  int begin;
  int end;
};

// What a row is part of, the probe that its LSE belongs to first.
std::span<const ProbePart> parts_of(ProbeKind kind) {
  static constexpr std::array<ProbePart, 3> kUniform = {{{ProbeId::buckets, 0, ProbePattern::kBuckets},
                                                         {ProbeId::code, ProbePattern::kBuckets, ProbePattern::kOneDim},
                                                         {ProbeId::one, ProbePattern::kOneDim, kValueDim}}};
  static constexpr std::array<ProbePart, 1> kFalling = {{{ProbeId::falling, 0, kValueDim}}};
  static constexpr std::array<ProbePart, 1> kNeedle = {{{ProbeId::needle, 0, kValueDim}}};
  static constexpr std::array<ProbePart, 1> kRising = {{{ProbeId::rising, 0, kValueDim}}};
  switch (kind) {
    case ProbeKind::uniform: return kUniform;
    case ProbeKind::falling: return kFalling;
    case ProbeKind::needle: return kNeedle;
    case ProbeKind::rising: return kRising;
  }
  return {};
}

RowFaults compare(const RowJob& job, const OutputRow& row) {
  static const ProbeAnswer kEmptyRow = {.lse = -kInfinity};
  const ProbeAnswer& answer = job.answer != nullptr ? *job.answer : kEmptyRow;
  const RowArray got = checks::widened(row.out);
  RowArray errors;
  for (int dim = 0; dim < kValueDim; ++dim) {
    errors[dim] = error_of(got[dim], answer.out[static_cast<std::size_t>(dim)]);
  }
  const RowArray ratios = checks::ratios_of(errors, Eigen::Map<const RowArray>(answer.bound.data()));
  RowFaults faults{};
  for (const ProbePart& part : parts_of(job.probe.kind)) {
    const int dim = checks::index_of_largest(ratios, part.begin, part.end);
    faults[static_cast<std::size_t>(part.probe)] = {dim, got[dim], answer.out[static_cast<std::size_t>(dim)],
                                                    ratios[dim]};
  }
  ElementFault& worst = faults[static_cast<std::size_t>(parts_of(job.probe.kind).front().probe)];
  const auto lse = static_cast<double>(row.lse);
  const double ratio = checks::ratio_of(error_of(lse, answer.lse), answer.lse_bound);
  if (ratio > worst.ratio) worst = {std::nullopt, lse, answer.lse, ratio};
  return faults;
}

std::string finding_of(const RowJob& job, const OutputRow& row, double kv_scale) {
  if (job.probe.kind == ProbeKind::needle) {
    const bool seen = job.probe.needle < job.visible;
    return fmt::format("the token with all the mass is {} and must {}be seen", job.probe.needle, seen ? "" : "not ");
  }
  if (job.probe.kind != ProbeKind::uniform || job.answer == nullptr) return {};
  std::array<double, kValueDim> values{};
  Eigen::Map<RowArray>(values.data()) = checks::widened(row.out) / kv_scale;
  return checks::read_uniform_row(values, static_cast<double>(row.lse), job.visible);
}

}  // namespace

std::string_view name_of(ProbeId probe) {
  constexpr std::array<std::string_view, kProbes> names = {"E1", "E2", "E3", "E4", "E5", "E6"};
  return names[static_cast<std::size_t>(probe)];
}

ProbeCheck::ProbeCheck(const DecodeProblem& problem, const DecodeLayout& layout, const ProbeInputs& inputs,
                       const Precision& precision)
    : problem_(problem), layout_(layout), inputs_(inputs), precision_(precision) {
  for (int probe = 0; probe < kProbes; ++probe)
    results_[static_cast<std::size_t>(probe)].probe = static_cast<ProbeId>(probe);
}

void ProbeCheck::add(int launch, const DecodeOutputBuffers& buffers) {
  const double kv_scale = static_cast<double>(static_cast<float>(problem_.fields().kv_scale));
  const DecodeOutputs outputs = layout_.bind(buffers);
  std::map<AnswerKey, ProbeAnswer> answers;
  std::vector<RowJob> jobs;
  std::int64_t token = 0;
  for (int request = 0; request < problem_.batch(); ++request) {
    for (int row = 0; row < problem_.q_len(request); ++row, ++token) {
      const std::int64_t visible = problem_.visible_tokens(request, row);
      for (int head = 0; head < problem_.fields().heads; ++head) {
        const ProbeRow probe = inputs_.row(launch, request, row, head);
        const ProbeAnswer* answer = nullptr;
        // The map's nodes stay where they are.
        if (visible > 0) answer = &answers[{problem_.kv_len(request), visible, probe}];
        jobs.push_back({request, row, token, head, probe, answer, visible});
      }
    }
  }
  std::vector<std::pair<const AnswerKey*, ProbeAnswer*>> wanted;
  for (auto& [key, answer] : answers) wanted.emplace_back(&key, &answer);
#pragma omp parallel for schedule(dynamic, 1)
  for (const auto& [key, answer] : wanted) {
    *answer = checks::probe_answer(inputs_.pattern(), key->row, key->visible, key->kv_len, kv_scale, precision_);
  }

  const auto row_of = [&](const RowJob& job) { return output_row(outputs, job.token, job.head); };
  std::vector<RowFaults> found(jobs.size());
#pragma omp parallel for schedule(static)
  for (std::size_t i = 0; i < jobs.size(); ++i) found[i] = compare(jobs[i], row_of(jobs[i]));

  for (std::size_t i = 0; i < jobs.size(); ++i) {
    const RowJob& job = jobs[i];
    for (const ProbePart& part : parts_of(job.probe.kind)) {
      const auto probe = static_cast<std::size_t>(part.probe);
      const ElementFault& worst = found[i][probe];
      ProbeResult& result = results_[probe];
      Tally& tally = tallies_[probe];
      ++tally.rows;
      result.max_ratio = std::max(result.max_ratio, worst.ratio);
      if (result.verdict == TierVerdict::skipped) result.verdict = TierVerdict::passed;
      if (worst.ratio <= 1) continue;
      result.verdict = TierVerdict::failed;
      ++tally.wrong;
      if (tally.worst && tally.worst->ratio >= worst.ratio) continue;
      tally.worst = ProbeFault{part.probe, job.request, job.token,
                               job.head,   worst.dim,   worst.got,
                               worst.want, worst.ratio, finding_of(job, row_of(job), kv_scale)};
    }
  }
}

bool ProbeCheck::passed() const {
  return std::none_of(tallies_.begin(), tallies_.end(), [](const Tally& tally) { return tally.wrong > 0; });
}

std::vector<ProbeFault> ProbeCheck::faults() const {
  std::vector<ProbeFault> faults;
  for (const Tally& tally : tallies_) {
    if (tally.worst) faults.push_back(*tally.worst);
  }
  return faults;
}

std::vector<CheckFailure> ProbeCheck::failures() const {
  std::vector<CheckFailure> failures;
  for (const Tally& tally : tallies_) {
    if (!tally.worst) continue;
    const ProbeFault& fault = *tally.worst;
    const std::string where = fmt::format("request {}, token {}, head {}", fault.request, fault.token, fault.head) +
                              (fault.dim ? fmt::format(", dim {}", *fault.dim) : "");
    failures.push_back(
        {fmt::format("probe_{}", name_of(fault.probe)),
         fmt::format("probe {}: {}{} of {} is {:.6g}, {:.6g} is exact; {} of {} rows affected", name_of(fault.probe),
                     fault.finding.empty() ? "" : fault.finding + ": ", fault.dim ? "`out`" : "`lse`", where, fault.got,
                     fault.want, tally.wrong, tally.rows)});
  }
  return failures;
}

}  // namespace mla::harness
