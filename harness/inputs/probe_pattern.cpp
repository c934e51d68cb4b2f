#include "harness/inputs/probe_pattern.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "harness/inputs/distribution.hpp"
#include "harness/inputs/element.hpp"

namespace mla::harness {

namespace {

constexpr float kNeedleMark = 240;   // the largest integer that every type holds
constexpr double kNeedleNats = 30;   // e^-30 of 4 million tokens is 4e-7
constexpr int kMostNeedleDims = 16;  // fp8 with the default scales takes 8
// A level's logit is this near to ln 2, so that 240 of them are within 2e-4 of a power of two: less than half the
// spacing of any type that P is rounded to, and a twentieth of what rounding the output to bf16 allows.
constexpr double kStepTolerance = 0x1p-20;

double rounded(DataType type, double value) {
  double result = 0;
  visit_element(type, [&]<class Element>() {
    result = static_cast<double>(Element::from_float(static_cast<float>(value)).to_float());
  });
  return result;
}

double sum_of(const std::vector<float>& values) {
  double sum = 0;
  for (const float value : values) sum += static_cast<double>(value);
  return sum;
}

// Elements of `type` that add up to `target` as nearly as `tolerance` of it or `dims` allow, each the nearest to what
// the ones before it left. Saturation of fp8 makes the first ones the largest value.
std::vector<float> digits(double target, DataType type, int dims, double tolerance) {
  std::vector<float> result;
  double rest = target;
  while (std::abs(rest) > tolerance && static_cast<int>(result.size()) < dims) {
    const double digit = rounded(type, rest);
    if (digit == 0) break;  // below the smallest value of the type
    result.push_back(static_cast<float>(digit));
    rest -= digit;
  }
  return result;
}

// As above in two parts, the second in units of 1 / kFineUnits, for what is below the smallest value of fp8.
std::optional<ProbePattern::Digits> split(double target, DataType type, int dims) {
  constexpr int kMostFineDims = 4;
  const double tolerance = kStepTolerance * target;
  ProbePattern::Digits result;
  result.coarse = digits(target, type, dims, tolerance);
  const double rest = target - sum_of(result.coarse);
  if (std::abs(rest) <= tolerance) return result;
  result.fine = digits(rest * ProbePattern::kFineUnits, type, kMostFineDims, tolerance * ProbePattern::kFineUnits);
  if (std::abs(rest - sum_of(result.fine) / ProbePattern::kFineUnits) > tolerance) return std::nullopt;
  return result;
}

double score_scale(const DecodeProblem& problem) {
  const auto& fields = problem.fields();
  // As the implementation gets them: float32.
  return static_cast<double>(static_cast<float>(fields.sm_scale)) *
         static_cast<double>(static_cast<float>(fields.q_scale)) *
         static_cast<double>(static_cast<float>(fields.kv_scale));
}

}  // namespace

double ProbePattern::Digits::sum() const {
  return sum_of(coarse) + sum_of(fine) / kFineUnits;
}

ProbePattern::ProbePattern(const DecodeProblem& problem, const DecodeLayout& layout) {
  const double scale = score_scale(problem);
  const double mark = scale * static_cast<double>(kNeedleMark);
  const double target = kNeedleNats / mark;
  constexpr double kNearEnough = 0.1;
  needle_q_ = digits(target, layout.q_type(), kMostNeedleDims, kNearEnough * target);
  if (std::abs(sum_of(needle_q_) - target) > kNearEnough * target) needle_q_.clear();
  needle_logit_ = sum_of(needle_q_) * mark;
  const int dims = kRopeDim - static_cast<int>(needle_q_.size());
  for (const bool fine : {true, false}) {
    if (plan_levels(layout.q_type(), scale, fine, dims)) return;
  }
}

bool ProbePattern::plan_levels(DataType q_type, double scale, bool fine, int dims) {
  constexpr double kStep = std::numbers::ln2;
  // Of the units that fp8 holds 15 times of, and 15 / kFineUnits times: the largest lets q be smallest, a smaller one
  // lets its rest be finer.
  for (float unit = 16; unit >= 1; unit /= 2) {
    const double per_level = scale * static_cast<double>(unit);
    const auto fall = split(kStep / per_level, q_type, dims);
    const auto rise = split(kLevelBase * kStep / per_level, q_type, dims);
    if (!fall || (fine && !rise)) continue;
    Digits hi = *fall;
    Digits lo;
    if (fine) {
      hi = *rise;
      lo = *fall;
    }
    hi_dims_ = static_cast<int>(std::max(fall->coarse.size(), hi.coarse.size()));
    hi_fine_dims_ = static_cast<int>(std::max(fall->fine.size(), hi.fine.size()));
    lo_dims_ = static_cast<int>(lo.coarse.size());
    lo_fine_dims_ = static_cast<int>(lo.fine.size());
    if (hi_dims_ + hi_fine_dims_ + lo_dims_ + lo_fine_dims_ > dims) continue;
    unit_ = unit;
    fall_ = *fall;
    rise_hi_ = hi;
    rise_lo_ = lo;
    hi_step_ = fall_.sum() * per_level;
    rise_hi_step_ = rise_hi_.sum() * per_level;
    rise_lo_step_ = rise_lo_.sum() * per_level;
    return true;
  }
  hi_dims_ = hi_fine_dims_ = lo_dims_ = lo_fine_dims_ = 0;
  return false;
}

bool ProbePattern::can(ProbeKind kind) const {
  switch (kind) {
    case ProbeKind::uniform: return true;
    case ProbeKind::falling:
    case ProbeKind::rising: return unit_ > 0;
    case ProbeKind::needle: return !needle_q_.empty();
  }
  return false;
}

ProbePattern::KeyRow ProbePattern::key(std::int64_t k, std::int64_t kv_len, bool is_needle) const {
  KeyRow row{};
  row[static_cast<std::size_t>(k % kBuckets)] = 1;
  for (int bit = 0; bit <= kCodeBits; ++bit) {
    row[static_cast<std::size_t>(kParityDim + bit)] = static_cast<float>(code(k, bit));
  }
  row[kOneDim] = 1;
  const std::int64_t t = level(k, kv_len);
  auto* at = row.begin() + kLatentDim;
  const auto hi = static_cast<float>(t / kLevelBase) * unit_;
  const auto lo = static_cast<float>(t % kLevelBase) * unit_;
  at = std::fill_n(at, hi_dims_, hi);
  at = std::fill_n(at, hi_fine_dims_, hi / kFineUnits);
  at = std::fill_n(at, lo_dims_, lo);
  at = std::fill_n(at, lo_fine_dims_, lo / kFineUnits);
  if (is_needle) std::fill_n(at, needle_q_.size(), kNeedleMark);
  return row;
}

ProbePattern::KeyRow ProbePattern::query(ProbeKind kind) const {
  KeyRow row{};
  auto* const hi = row.begin() + kLatentDim;
  auto* const lo = hi + hi_dims_ + hi_fine_dims_;
  const auto write = [](const Digits& digits, float sign, float* at, int coarse_dims) {
    const auto signed_copy = [sign](float digit) { return sign * digit; };
    std::transform(digits.coarse.begin(), digits.coarse.end(), at, signed_copy);
    std::transform(digits.fine.begin(), digits.fine.end(), at + coarse_dims, signed_copy);
  };
  switch (kind) {
    case ProbeKind::uniform: break;
    case ProbeKind::falling: write(fall_, -1, hi, hi_dims_); break;
    case ProbeKind::rising:
      write(rise_hi_, 1, hi, hi_dims_);
      write(rise_lo_, 1, lo, lo_dims_);
      break;
    case ProbeKind::needle: std::copy(needle_q_.begin(), needle_q_.end(), lo + lo_dims_ + lo_fine_dims_); break;
  }
  return row;
}

double ProbePattern::logit(ProbeKind kind, std::int64_t level) const {
  const auto hi = static_cast<double>(level / kLevelBase);
  const auto lo = static_cast<double>(level % kLevelBase);
  if (kind == ProbeKind::falling) return -hi * hi_step_;
  return kind == ProbeKind::rising ? hi * rise_hi_step_ + lo * rise_lo_step_ : 0;
}

double ProbePattern::deviation(ProbeKind kind) const {
  if (kind != ProbeKind::falling && kind != ProbeKind::rising) return 0;
  return kLevels * std::numbers::ln2 * kStepTolerance;
}

namespace {

constexpr int kMixedKinds = 3;  // falling, rising, needle

// Converts a row of the pattern and writes it where it belongs.
void write_row(const ProbePattern::KeyRow& row, DataType type, const void* data, std::int64_t offset) {
  visit_element(type, [&]<class Element>() {
    auto* const to = const_cast<Element*>(static_cast<const Element*>(data)) + offset;
    // Most of a row is zero, and encoding fp8 takes its time.
    std::transform(row.begin(), row.end(), to,
                   [](float value) { return value == 0 ? Element{} : Element::from_float(value); });
  });
}

}  // namespace

ProbeInputs::ProbeInputs(const DecodeProblem& problem, const DecodeLayout& layout, const DecodeInputBuffers& buffers)
    : problem_(problem), layout_(layout), buffers_(buffers), pattern_(problem, layout) {
  std::size_t most_needles = 1;
  int fewest_rows = kMaxHeads * kMaxQueryLength;
  for (int request = 0; request < problem.batch(); ++request) {
    needles_.push_back(needle_positions(problem.kv_len(request), problem.q_len(request)));
    most_needles = std::max(most_needles, needles_.back().size());
    if (problem.q_len(request) > 0)
      fewest_rows = std::min(fewest_rows, problem.q_len(request) * problem.fields().heads);
  }
  // A request of one row needs three launches for the three kinds, at each place of its needle.
  launches_a_place_ = fewest_rows < kMixedKinds ? kMixedKinds : 1;
  launches_ = 1 + static_cast<int>(most_needles) * launches_a_place_;
}

std::int64_t ProbeInputs::needle(int launch, int request) const {
  const auto& places = needles_[static_cast<std::size_t>(request)];
  if (launch == 0 || places.empty()) return -1;
  return places[static_cast<std::size_t>((launch - 1) / launches_a_place_ + request) % places.size()];
}

ProbeRow ProbeInputs::row(int launch, int request, int token, int head) const {
  if (launch == 0) return {};
  constexpr std::array kinds = {ProbeKind::needle, ProbeKind::falling, ProbeKind::rising};
  const ProbeKind kind = kinds[static_cast<std::size_t>(launch - 1 + request + token + head) % kinds.size()];
  const std::int64_t at = needle(launch, request);
  if (!pattern_.can(kind) || (kind == ProbeKind::needle && at < 0)) return {};
  return {kind, kind == ProbeKind::needle ? at : -1};
}

void ProbeInputs::fill(int launch) {
  const DecodeInputs views = layout_.bind(buffers_);
  if (filled_ < 0) write_tokens(views);
  for (int request = 0; request < problem_.batch(); ++request) {
    const std::int64_t before = filled_ > 0 ? needle(filled_, request) : -1;
    const std::int64_t now = needle(launch, request);
    if (before >= 0) write_token(views, request, before, false);
    if (now >= 0) write_token(views, request, now, true);
  }
  write_queries(views.q, launch);
  filled_ = launch;
}

void ProbeInputs::write_token(const DecodeInputs& views, int request, std::int64_t position, bool is_needle) const {
  const std::int64_t page = views.batch.kv_indices[views.batch.kv_indptr[request] + position / views.kv.page_size];
  write_row(pattern_.key(position, problem_.kv_len(request), is_needle), views.kv.dtype, views.kv.data,
            page * views.kv.page_stride + position % views.kv.page_size * views.kv.token_stride);
}

void ProbeInputs::write_tokens(const DecodeInputs& views) const {
  // Stretches, so that neither one long request nor many short ones keep threads waiting.
  struct Stretch {
    int request;
    std::int64_t begin;
  };
  constexpr std::int64_t kStretch = 512;
  std::vector<Stretch> stretches;
  for (int request = 0; request < problem_.batch(); ++request) {
    for (std::int64_t at = 0; at < problem_.kv_len(request); at += kStretch) stretches.push_back({request, at});
  }
#pragma omp parallel for schedule(dynamic, 4)
  for (const Stretch& stretch : stretches) {
    const std::int64_t end = std::min(stretch.begin + kStretch, problem_.kv_len(stretch.request));
    for (std::int64_t at = stretch.begin; at < end; ++at) write_token(views, stretch.request, at, false);
  }
}

void ProbeInputs::write_queries(const QueryView& q, int launch) const {
  std::array<ProbePattern::KeyRow, kProbeKinds> queries;
  for (int kind = 0; kind < kProbeKinds; ++kind) {
    queries[static_cast<std::size_t>(kind)] = pattern_.query(static_cast<ProbeKind>(kind));
  }
  std::int64_t row = 0;
  for (int request = 0; request < problem_.batch(); ++request) {
    for (int token = 0; token < problem_.q_len(request); ++token, ++row) {
      for (int head = 0; head < problem_.fields().heads; ++head) {
        const auto kind = static_cast<std::size_t>(this->row(launch, request, token, head).kind);
        write_row(queries[kind], q.dtype, q.data, row * q.token_stride + head * q.head_stride);
      }
    }
  }
}

}  // namespace mla::harness
