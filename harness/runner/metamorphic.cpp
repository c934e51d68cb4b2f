#include "harness/runner/metamorphic.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <memory>
#include <optional>
#include <utility>

#include "harness/checks/spread.hpp"
#include "harness/inputs/output_row.hpp"
#include "harness/runner/relation.hpp"
#include "reference/error_model.hpp"

namespace mla::harness {

namespace {

using metamorphic::Agreement;
using metamorphic::Relation;
using metamorphic::Source;
using metamorphic::Variant;

constexpr double kInfinity = std::numeric_limits<double>::infinity();

std::size_t row_bytes(DataType type) {
  return static_cast<std::size_t>(kHeadDim) * static_cast<std::size_t>(size_in_bytes(type));
}

std::byte* query_row(const DecodeInputs& in, const DecodeInputBuffers& buffers, std::int64_t token, int head) {
  const std::int64_t element = token * in.q.token_stride + head * in.q.head_stride;
  return buffers.q.data().data() + element * size_in_bytes(in.q.dtype);
}

std::byte* kv_row(const DecodeInputs& in, const DecodeInputBuffers& buffers, int request, std::int64_t position) {
  const std::int64_t page = in.batch.kv_indices[in.batch.kv_indptr[request] + position / in.kv.page_size];
  const std::int64_t element = page * in.kv.page_stride + position % in.kv.page_size * in.kv.token_stride;
  return buffers.kv.data().data() + element * size_in_bytes(in.kv.dtype);
}

// A variant with the base's contents and the provider's result.
class VariantRun {
 public:
  VariantRun(const Variant& variant, const DecodeCase& base, const Provider& provider)
      : variant_(variant),
        layout_(variant.problem, provider.native_fp8()),
        input_arena_(Arena::create(layout_.input_bytes())),
        output_arena_(Arena::create(layout_.output_bytes())),
        inputs_(layout_.take_inputs(input_arena_)),
        outputs_(layout_.take_outputs(output_arena_)) {
    fill_inputs(variant.problem, layout_, inputs_);
    transplant(base);
    poison_outputs(outputs_);
    const auto execution = provider.prepare({variant_.problem, layout_, inputs_, outputs_});
    execution->run();
    execution->fetch();
  }

  [[nodiscard]] const Variant& variant() const { return variant_; }
  [[nodiscard]] OutputRow row(std::int64_t token, int head) const {
    return output_row(layout_.bind(outputs_), token, head);
  }

 private:
  void transplant(const DecodeCase& base) const {
    const DecodeInputs from = base.layout.bind(base.inputs);
    const DecodeInputs to = layout_.bind(inputs_);
    const int heads = std::min(from.heads, to.heads);
    for (int request = 0; request < to.batch.batch; ++request) {
      const Source& source = variant_.sources[static_cast<std::size_t>(request)];
      const std::int64_t first = from.batch.qo_indptr[source.request] + source.query_begin;
      for (int query = 0; query < variant_.problem.q_len(request); ++query) {
        for (int head = 0; head < heads; ++head) {
          std::memcpy(query_row(to, inputs_, to.batch.qo_indptr[request] + query, head),
                      query_row(from, base.inputs, first + query, head), row_bytes(to.q.dtype));
        }
      }
      for (std::int64_t position = 0; position < variant_.problem.kv_len(request); ++position) {
        std::memcpy(kv_row(to, inputs_, request, position),
                    kv_row(from, base.inputs, source.request, source.kv_begin + position * source.kv_stride),
                    row_bytes(to.kv.dtype));
      }
    }
  }

  const Variant& variant_;
  DecodeLayout layout_;
  Arena input_arena_;
  Arena output_arena_;
  DecodeInputBuffers inputs_;
  DecodeOutputBuffers outputs_;
};

// Follows the largest difference, in units of what is allowed.
class Difference {
 public:
  [[nodiscard]] double ratio() const { return ratio_; }
  [[nodiscard]] bool bitwise() const { return bitwise_; }
  [[nodiscard]] const std::string& worst() const { return worst_; }

 private:
  friend class RowDifference;

  double ratio_ = 0;
  bool bitwise_ = true;
  std::string worst_;
};

// The difference of two results of one row: each value against what both may be off by, and all of them against the
// spread that two roundings leave which do not know of each other, sqrt(2) times that of one (tier S). The limits of
// one result serve: a row of one was never seen beyond 1.2 standard errors (reference/README.md), so that two which err
// opposite ways are within 1.7 of the difference's.
class RowDifference {
 public:
  RowDifference(Difference& all, std::int64_t token, int head) : all_(all), token_(token), head_(head) {}

  void add(double got, double base, double bound) {
    if (got == base) return;
    all_.bitwise_ = false;
    const bool comparable = std::isfinite(got) && std::isfinite(base) && bound > 0;
    const double ratio = comparable ? std::abs(got - base) / bound : kInfinity;
    if (is_worst(ratio)) {
      all_.worst_ = fmt::format("token {}, head {}: {:.6g} against {:.6g}", token_, head_, got, base);
    }
  }

  // `standard_error`: of the difference.
  void add_to_spread(double got, double base, double standard_error) {
    if (got == base || !(standard_error > 0)) return;  // else `add` has said that nothing is allowed
    const double z = std::abs(got - base) / standard_error;
    square_sum_ += z * z;
    z_max_ = std::max(z_max_, z);
  }

  void finish_spread() {
    using Limits = reference::StatisticalLimits;
    const double rms = std::sqrt(square_sum_ / kValueDim);
    if (!is_worst(std::max(rms / Limits::kRowRms, z_max_ / Limits::kElement))) return;
    all_.worst_ = fmt::format(
        "token {}, head {}: differences of {:.3g} standard errors (limit {}), at most {:.3g} (limit "
        "{})",
        token_, head_, rms, Limits::kRowRms, z_max_, Limits::kElement);
  }

 private:
  bool is_worst(double ratio) {
    if (!(ratio > all_.ratio_)) return false;
    all_.ratio_ = ratio;
    return true;
  }

  Difference& all_;
  std::int64_t token_;
  int head_;
  double square_sum_ = 0;
  double z_max_ = 0;
};

// How much each part counts for in a row, by the parts' log-sum-exps; and the log-sum-exp of all.
struct MergedWeights {
  MergedWeights(const std::vector<std::unique_ptr<VariantRun>>& parts, std::int64_t token, int head) {
    double maximum = -kInfinity;
    for (const auto& part : parts) {
      const double part_lse = static_cast<double>(part->row(token, head).lse);
      maximum = std::max(maximum, part_lse);
      if (std::isfinite(part_lse)) largest_lse = std::max(largest_lse, std::abs(part_lse));
    }
    double sum = 0;
    for (const auto& part : parts) {
      const double part_lse = static_cast<double>(part->row(token, head).lse);
      of.push_back(maximum == -kInfinity ? 0 : std::exp(part_lse - maximum));
      sum += of.back();
    }
    for (double& weight : of) weight /= sum;
    lse = maximum == -kInfinity ? maximum : maximum + std::log(sum);
  }

  std::vector<double> of;
  double lse = 0;
  double largest_lse = 0;
};

class Comparison {
 public:
  explicit Comparison(const RelationBase& base)
      : base_(base),
        outputs_(base.base.layout.bind(base.base.outputs)),
        heads_(base.base.problem.fields().heads),
        has_spread_(checks::spread_scope(base.base.problem.fields().distribution, base.precision).rows) {}

  // Every row of the variant against the base's row that it stands for.
  void compare(const VariantRun& run, Difference& difference) const {
    std::int64_t token = 0;
    for (int request = 0; request < run.variant().problem.batch(); ++request) {
      const Source& source = run.variant().sources[static_cast<std::size_t>(request)];
      for (int query = 0; query < run.variant().problem.q_len(request); ++query, ++token) {
        const std::int64_t base_token = first_token(source.request) + source.query_begin + query;
        for (int head = 0; head < heads_; ++head) compare_row(run.row(token, head), base_token, head, difference);
      }
    }
  }

  // The parts' rows, merged in double precision, against the base's. Token by token alike in all parts.
  void compare_merged(const std::vector<std::unique_ptr<VariantRun>>& parts, Difference& difference) const {
    for (std::int64_t token = 0; token < base_.base.problem.total_q(); ++token) {
      for (int head = 0; head < heads_; ++head) compare_merged_row(parts, token, head, difference);
    }
  }

 private:
  [[nodiscard]] std::int64_t first_token(int request) const {
    std::int64_t first = 0;
    for (int before = 0; before < request; ++before) first += base_.base.problem.q_len(before);
    return first;
  }

  // What one log-sum-exp of the row may be off by.
  [[nodiscard]] double lse_bound(std::int64_t row) const {
    const double bound = reference::lse_bound(base_.oracle, row, base_.precision);
    return has_spread_ ? std::min(bound, reference::lse_spread_bound(base_.oracle, row, base_.precision)) : bound;
  }

  void compare_row(const OutputRow& got, std::int64_t token, int head, Difference& difference) const {
    const OutputRow base = output_row(outputs_, token, head);
    const std::int64_t row = token * heads_ + head;
    const reference::RowModel model(base_.oracle, row, base_.precision, outputs_.out.dtype);
    RowDifference found(difference, token, head);
    found.add(static_cast<double>(got.lse), static_cast<double>(base.lse), 2 * lse_bound(row));
    for (int dim = 0; dim < kValueDim; ++dim) {
      const auto value = static_cast<double>(got.out[dim].to_float());
      const auto expected = static_cast<double>(base.out[dim].to_float());
      found.add(value, expected, 2 * model.hard_bound(dim));
      if (has_spread_) found.add_to_spread(value, expected, std::sqrt(2.0) * model.standard_error(dim));
    }
    if (has_spread_) found.finish_spread();
  }

  void compare_merged_row(const std::vector<std::unique_ptr<VariantRun>>& parts, std::int64_t token, int head,
                          Difference& difference) const {
    const OutputRow base = output_row(outputs_, token, head);
    const std::int64_t row = token * heads_ + head;
    const reference::RowModel model(base_.oracle, row, base_.precision, outputs_.out.dtype);
    const MergedWeights weights(parts, token, head);
    RowDifference found(difference, token, head);
    const double u_lse = 4 * unit_roundoff(DataType::f32) * weights.largest_lse;
    found.add(weights.lse, static_cast<double>(base.lse), 2 * lse_bound(row) + u_lse);
    for (int dim = 0; dim < kValueDim; ++dim) {
      double merged = 0;
      double square_sum = 0;  // of the parts' shares
      for (std::size_t i = 0; i < parts.size(); ++i) {
        // A part without weight may hold anything.
        if (!(weights.of[i] > 0)) continue;
        const double share = weights.of[i] * static_cast<double>(parts[i]->row(token, head).out[dim].to_float());
        merged += share;
        square_sum += share * share;
      }
      const auto expected = static_cast<double>(base.out[dim].to_float());
      // The bounds of the parts, weighted, add up to the base's; but each part's output was rounded for itself.
      const double abs_sum = static_cast<double>(base_.oracle.abs_sum[static_cast<std::size_t>(row * kValueDim + dim)]);
      found.add(merged, expected, 2 * model.hard_bound(dim) + 1.01 * unit_roundoff(DataType::bf16) * abs_sum);
      if (!has_spread_) continue;
      // B^2 of the parts, weighted, adds up to the base's. But parts that cancel are larger than the base's output, and
      // so is what goes with O^2 in the error model.
      const double error = model.standard_error(dim);
      found.add_to_spread(merged, expected, std::sqrt(2 * error * error + rounding_square() * square_sum));
    }
    if (has_spread_) found.finish_spread();
  }

  // Of a part's variance, what is proportional to its O^2.
  [[nodiscard]] double rounding_square() const {
    double sum = 0;
    for (const DataType type : {base_.precision.probabilities, base_.precision.partial_output, outputs_.out.dtype}) {
      const double rounding = reference::StatisticalLimits::kRounding * unit_roundoff(type);
      sum += rounding * rounding;
    }
    return sum;
  }

  const RelationBase& base_;
  DecodeOutputs outputs_;
  int heads_;
  bool has_spread_;
};

RelationResult verdict_of(const Relation& relation, const Difference& difference) {
  RelationResult result{.relation = std::string(relation.name),
                        .message = relation.what,
                        .max_ratio = difference.ratio(),
                        .bitwise = difference.bitwise()};
  const bool bits_needed = relation.agreement == Agreement::bitwise;
  if (bits_needed ? difference.bitwise() : difference.ratio() <= 1) return result;
  result.verdict = TierVerdict::failed;
  const std::string excess =
      bits_needed ? "not the same bits" : fmt::format("{:.3g}x what rounding explains", difference.ratio());
  result.message += fmt::format(": {}, worst at {}", excess, difference.worst());
  return result;
}

RelationResult skipped(std::string_view relation, const std::string& why) {
  return {.relation = std::string(relation), .skipped = true, .message = why};
}

RelationResult check(const Relation& relation, const RelationBase& base) {
  if (!relation.skipped.empty()) return skipped(relation.name, relation.skipped);
  std::vector<std::unique_ptr<VariantRun>> runs;
  for (const Variant& variant : relation.variants) {
    const Support support = base.provider.supports(variant.problem);
    if (!support.ok()) {
      return skipped(relation.name, fmt::format("{}: {}: {}", relation.what, name_of(support.reason), support.detail));
    }
    runs.push_back(std::make_unique<VariantRun>(variant, base.base, base.provider));
  }
  const Comparison comparison(base);
  Difference difference;
  if (relation.agreement == Agreement::merged) {
    comparison.compare_merged(runs, difference);
  } else {
    for (const auto& run : runs) comparison.compare(*run, difference);
  }
  return verdict_of(relation, difference);
}

std::vector<std::byte> output_bytes(const DecodeOutputBuffers& outputs) {
  std::vector<std::byte> bytes;
  for (const Buffer* buffer : {&outputs.out, &outputs.lse}) {
    const auto data = buffer->data();
    bytes.insert(bytes.end(), data.begin(), data.end());
  }
  return bytes;
}

// The result that `execution` leaves in the base's buffers.
std::vector<std::byte> launch(const RelationBase& base, DecodeExecution& execution) {
  poison_outputs(base.base.outputs);
  execution.run();
  execution.fetch();
  return output_bytes(base.base.outputs);
}

// The execution that has run before, once more, against one made afresh; where the provider replays a captured graph,
// against the same kernels launched one by one.
RelationResult check_replay(const RelationBase& base, DecodeExecution& execution) {
  const std::unique_ptr<Provider> eager = base.provider.eager();
  RelationResult result{.relation = "replay", .message = "launched again", .bitwise = true};
  if (eager) result.message = fmt::format("replayed against {}", eager->name());
  const std::vector<std::byte> replayed = launch(base, execution);
  const auto fresh = (eager ? *eager : base.provider).prepare(base.base);
  const std::vector<std::byte> first = launch(base, *fresh);
  std::int64_t differing = 0;
  for (std::size_t i = 0; i < first.size(); ++i) differing += replayed[i] != first[i] ? 1 : 0;
  if (differing == 0) return result;
  result.bitwise = false;
  result.verdict = TierVerdict::failed;
  result.max_ratio = kInfinity;
  result.message += fmt::format(": {} of {} bytes of the outputs differ", differing, first.size());
  return result;
}

}  // namespace

std::vector<RelationResult> check_metamorphic(const RelationBase& base, DecodeExecution& execution) {
  std::vector<RelationResult> results;
  for (const Relation& relation : metamorphic::relations_of(base.base.problem)) {
    results.push_back(check(relation, base));
  }
  // The last, since it writes the base's outputs anew.
  results.push_back(check_replay(base, execution));
  return results;
}

}  // namespace mla::harness
