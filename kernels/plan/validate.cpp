#include "mla/validate.hpp"

#include <cmath>
#include <cstdint>

namespace mla {
namespace {

constexpr std::int64_t kVectorBytes = 16;
constexpr std::uintptr_t kWorkspaceAlignment = 256;
/// Keeps every sum of strides of the checks below, and of offsets within a page, far from 2^63.
constexpr std::int64_t kMaxStride = std::int64_t{1} << 48;

const char* word(DataType type) {
  return name_of(type).data();
}

// The first refusal of a sequence of checks, each evaluated only while none has failed.
class FirstRefusal {
 public:
  template <class Check>
  FirstRefusal& then(Check check) {
    if (status_.ok()) status_ = check();
    return *this;
  }
  [[nodiscard]] Status status() const { return status_; }

 private:
  Status status_;
};

Status require_between(const char* argument, std::int64_t value, std::int64_t low, std::int64_t high,
                       const char* rule) {
  return value >= low && value <= high ? Status{} : Status::refuse(StatusCode::bad_value, argument, value, rule);
}

Status check_types(DataType q, DataType kv) {
  if (q != DataType::bf16 && !is_fp8(q)) {
    return Status::refuse_name(StatusCode::bad_dtype, "q.dtype", word(q), "must be bf16, e4m3fn or e4m3fnuz");
  }
  if (kv != DataType::bf16 && !is_fp8(kv)) {
    return Status::refuse_name(StatusCode::bad_dtype, "kv.dtype", word(kv), "must be bf16, e4m3fn or e4m3fnuz");
  }
  if (is_fp8(q) && kv == DataType::bf16) {
    return Status::refuse_name(StatusCode::bad_dtype, "kv.dtype", word(kv), "must be fp8 where q is fp8");
  }
  if (is_fp8(q) && q != kv) {
    return Status::refuse_name(StatusCode::bad_dtype, "kv.dtype", word(kv),
                               "must be the fp8 encoding of q: the same byte is another value in the other one");
  }
  return {};
}

bool is_power_of_two(std::int32_t value) {
  return value > 0 && (value & (value - 1)) == 0;
}

Status check_tile(const TileLimits& tile) {
  if (!is_power_of_two(tile.min_rows)) {
    return Status::refuse(StatusCode::bad_value, "limits.tile.min_rows", tile.min_rows, "must be a power of two");
  }
  if (!is_power_of_two(tile.max_rows) || tile.max_rows < tile.min_rows) {
    return Status::refuse(StatusCode::bad_value, "limits.tile.max_rows", tile.max_rows,
                          "must be a power of two, not below min_rows");
  }
  if (!is_power_of_two(tile.max_rows_fp8) || tile.max_rows_fp8 < tile.min_rows) {
    return Status::refuse(StatusCode::bad_value, "limits.tile.max_rows_fp8", tile.max_rows_fp8,
                          "must be a power of two, not below min_rows");
  }
  if (!is_power_of_two(tile.tokens) || tile.tokens > 4096) {
    return Status::refuse(StatusCode::bad_value, "limits.tile.tokens", tile.tokens,
                          "must be a power of two from 1 to 4096");
  }
  return {};
}

Status check_cost(const CostModel& cost) {
  constexpr const char* kRule = "must be from 0 to 2^24";
  return FirstRefusal()
      .then([&] { return require_between("limits.cost.work", cost.work, 0, kMaxCost, kRule); })
      .then([&] { return require_between("limits.cost.partial", cost.partial, 0, kMaxCost, kRule); })
      .then([&] { return require_between("limits.cost.merge", cost.merge, 0, kMaxCost, kRule); })
      .then([&] { return require_between("limits.cost.merge_per_split", cost.merge_per_split, 0, kMaxCost, kRule); })
      .status();
}

Status check_agreement(const DecodeInputs& inputs, const PlanLimits& limits) {
  if (inputs.q.dtype != limits.q_dtype) {
    return Status::refuse_name(StatusCode::bad_dtype, "q.dtype", word(inputs.q.dtype), "must be the limits' q_dtype");
  }
  if (inputs.kv.dtype != limits.kv_dtype) {
    return Status::refuse_name(StatusCode::bad_dtype, "kv.dtype", word(inputs.kv.dtype),
                               "must be the limits' kv_dtype");
  }
  if (inputs.heads != limits.heads) {
    return Status::refuse(StatusCode::bad_value, "heads", inputs.heads, "must be the limits' heads");
  }
  if (inputs.causal != limits.causal) {
    return Status::refuse_name(StatusCode::bad_value, "causal", inputs.causal ? "true" : "false",
                               "must be the limits' causal");
  }
  return {};
}

Status check_batch(const RaggedBatchView& batch, const PlanLimits& limits) {
  if (batch.batch < 0) return Status::refuse(StatusCode::bad_value, "batch", batch.batch, "must not be negative");
  if (batch.batch > limits.max_batch) {
    return Status::refuse(StatusCode::exceeds_limit, "batch", batch.batch, "must not exceed the limits' max_batch");
  }
  return {};
}

Status check_scales(const DecodeInputs& inputs) {
  const auto check = [](const char* argument, float value) {
    return std::isfinite(value) && value > 0 ? Status{}
                                             : Status::refuse_real(argument, value, "must be finite and above zero");
  };
  return FirstRefusal()
      .then([&] { return check("sm_scale", inputs.sm_scale); })
      .then([&] { return check("q_scale", inputs.q_scale); })
      .then([&] { return check("kv_scale", inputs.kv_scale); })
      .status();
}

Status check_pointer(const char* argument, const void* pointer, std::uintptr_t alignment) {
  if (pointer == nullptr) {
    return Status::refuse_name(StatusCode::null_pointer, argument, "null", "must not be null");
  }
  const auto address = reinterpret_cast<std::uintptr_t>(pointer);
  if (address % alignment != 0) {
    return Status::refuse(StatusCode::misaligned, argument, static_cast<std::int64_t>(address % alignment),
                          alignment == kWorkspaceAlignment ? "address must be a multiple of 256 (remainder given)"
                          : alignment == kVectorBytes      ? "address must be a multiple of 16 (remainder given)"
                                                           : "address must be a multiple of 4 (remainder given)");
  }
  return {};
}

constexpr std::uintptr_t kWord = 4;

// The arrays that the planner reads.
Status check_lengths(const RaggedBatchView& batch) {
  if (batch.batch == 0) return {};
  return FirstRefusal()
      .then([&] { return check_pointer("qo_indptr", batch.qo_indptr, kWord); })
      .then([&] { return check_pointer("kv_indptr", batch.kv_indptr, kWord); })
      .then([&] { return check_pointer("kv_last_page_len", batch.kv_last_page_len, kWord); })
      .status();
}

Status check_pointers(const DecodeInputs& inputs, const DecodeOutputs& outputs) {
  const RaggedBatchView& batch = inputs.batch;
  if (batch.batch == 0) return {};
  FirstRefusal refusal;
  refusal.then([&] { return check_pointer("q.data", inputs.q.data, kVectorBytes); })
      .then([&] { return check_pointer("out.data", outputs.out.data, kVectorBytes); })
      .then([&] { return check_pointer("lse.data", outputs.lse.data, kWord); })
      .then([&] { return check_lengths(batch); });
  if (inputs.kv.num_pages == 0) return refusal.status();
  return refusal.then([&] { return check_pointer("kv.data", inputs.kv.data, kVectorBytes); })
      .then([&] { return check_pointer("kv_indices", batch.kv_indices, kWord); })
      .status();
}

// A stride in elements that steps over `needed` elements and keeps rows on vector boundaries.
Status check_stride(const char* argument, std::int64_t stride, std::int64_t needed, int element_bytes,
                    const char* rule) {
  if (stride < needed) return Status::refuse(StatusCode::bad_stride, argument, stride, rule);
  if (stride > kMaxStride) return Status::refuse(StatusCode::bad_stride, argument, stride, "must be at most 2^48");
  if (stride * element_bytes % kVectorBytes != 0) {
    return Status::refuse(StatusCode::bad_stride, argument, stride,
                          "times the element size must be a multiple of 16 bytes");
  }
  return {};
}

Status check_input_strides(const DecodeInputs& inputs) {
  const int q_bytes = size_in_bytes(inputs.q.dtype);
  const int kv_bytes = size_in_bytes(inputs.kv.dtype);
  const PagedKvView& kv = inputs.kv;
  constexpr const char* kRow = "must be at least 576, a row";
  FirstRefusal refusal;
  refusal.then([&] { return check_stride("q.token_stride", inputs.q.token_stride, kHeadDim, q_bytes, kRow); });
  if (inputs.heads > 1) {
    refusal.then([&] { return check_stride("q.head_stride", inputs.q.head_stride, kHeadDim, q_bytes, kRow); });
  }
  if (kv.page_size > 1) {
    refusal.then([&] { return check_stride("kv.token_stride", kv.token_stride, kHeadDim, kv_bytes, kRow); });
  }
  return refusal
      .then([&] {
        const std::int64_t page = kv.page_size > 1 ? (kv.page_size - 1) * kv.token_stride + kHeadDim : kHeadDim;
        return check_stride("kv.page_stride", kv.page_stride, page, kv_bytes, "must hold the tokens of a page");
      })
      .status();
}

// Written rows must not overlap: either all heads of a token lie within its stride, or the layout is head-major.
Status check_token_stride(const char* argument, std::int64_t token_stride, std::int64_t head_stride, std::int32_t heads,
                          std::int64_t row) {
  if (heads == 1 || head_stride > token_stride || token_stride >= (heads - 1) * head_stride + row) return {};
  return Status::refuse(StatusCode::bad_stride, argument, token_stride, "must hold all heads of a token");
}

Status check_output_strides(const DecodeOutputs& outputs, std::int32_t heads) {
  const OutputView& out = outputs.out;
  const LseView& lse = outputs.lse;
  constexpr int kOutBytes = 2;
  constexpr const char* kRow = "must be at least 512, a row";
  FirstRefusal refusal;
  refusal.then([&] { return check_stride("out.token_stride", out.token_stride, kValueDim, kOutBytes, kRow); });
  if (heads > 1) {
    refusal.then([&] { return check_stride("out.head_stride", out.head_stride, kValueDim, kOutBytes, kRow); });
  }
  refusal.then(
      [&] { return check_token_stride("out.token_stride", out.token_stride, out.head_stride, heads, kValueDim); });
  constexpr const char* kElement = "must be from 1 to 2^48";
  refusal.then([&] { return require_between("lse.token_stride", lse.token_stride, 1, kMaxStride, kElement); });
  if (heads > 1) {
    refusal.then([&] { return require_between("lse.head_stride", lse.head_stride, 1, kMaxStride, kElement); });
  }
  return refusal
      .then([&] { return check_token_stride("lse.token_stride", lse.token_stride, lse.head_stride, heads, 1); })
      .status();
}

Status check_page_size(std::int32_t page_size) {
  return is_valid_page_size(page_size)
             ? Status{}
             : Status::refuse(StatusCode::bad_value, "kv.page_size", page_size, "must be a power of two from 1 to 256");
}

Status check_workspace(const PlanLimits& limits, const void* workspace, std::size_t bytes) {
  if (bytes < workspace_size(limits)) {
    return Status::refuse(StatusCode::too_small, "workspace_bytes", static_cast<std::int64_t>(bytes),
                          "must be at least workspace_size(limits)");
  }
  return check_pointer("workspace", workspace, kWorkspaceAlignment);
}

Status check_query(const RaggedBatchView& batch, const PlanLimits& limits, std::int32_t request) {
  const std::int32_t q_len = batch.query_length(request);
  if (batch.qo_indptr[request] < 0) {
    return Status::refuse(StatusCode::bad_value, "qo_indptr", batch.qo_indptr[request], "must not be negative",
                          request);
  }
  if (q_len < 0) {
    return Status::refuse(StatusCode::bad_value, "q_len", q_len, "must not be negative", request);
  }
  if (q_len > limits.max_q_len) {
    return Status::refuse(StatusCode::exceeds_limit, "q_len", q_len, "must not exceed the limits' max_q_len", request);
  }
  if (batch.qo_indptr[request + 1] - batch.qo_indptr[0] > total_query_limit(limits)) {
    return Status::refuse(StatusCode::exceeds_limit, "qo_indptr", batch.qo_indptr[request + 1],
                          "query tokens must not exceed the limits' max_total_q", request + 1);
  }
  return {};
}

Status check_kv(const RaggedBatchView& batch, std::int32_t page_size, std::int64_t num_pages, std::int32_t request) {
  const std::int64_t first = batch.kv_indptr[request];
  const std::int64_t pages = batch.kv_indptr[request + 1] - first;
  if (first < 0 || pages < 0) {
    return Status::refuse(StatusCode::bad_value, "kv_indptr", batch.kv_indptr[request + 1],
                          "must begin at 0 or above and not decrease", request + 1);
  }
  if (pages == 0) return {};
  const std::int32_t last = batch.kv_last_page_len[request];
  if (last < 1 || last > page_size) {
    return Status::refuse(StatusCode::bad_value, "kv_last_page_len", last, "must be from 1 to the page size", request);
  }
  if (batch.kv_length(request, page_size) > kMaxKvLength) {
    return Status::refuse(StatusCode::exceeds_limit, "kv_len", batch.kv_length(request, page_size),
                          "must be at most 2^30", request);
  }
  for (std::int64_t i = first; i < first + pages; ++i) {
    if (batch.kv_indices[i] < 0 || batch.kv_indices[i] >= num_pages) {
      return Status::refuse(StatusCode::bad_value, "kv_indices", batch.kv_indices[i], "must be a page of the pool", i);
    }
  }
  return {};
}

}  // namespace

Status validate(const PlanLimits& limits) {
  FirstRefusal refusal;
  refusal.then([&] { return check_types(limits.q_dtype, limits.kv_dtype); })
      .then([&] { return require_between("limits.heads", limits.heads, 1, kMaxHeads, "must be from 1 to 128"); })
      .then(
          [&] { return require_between("limits.max_batch", limits.max_batch, 1, kMaxBatch, "must be from 1 to 2^20"); })
      .then([&] {
        return require_between("limits.max_q_len", limits.max_q_len, 1, kMaxQueryLength, "must be from 1 to 8");
      })
      .then([&] {
        return require_between("limits.max_total_q", limits.max_total_q, 0,
                               std::int64_t{limits.max_batch} * limits.max_q_len,
                               "must be from 1 to max_batch * max_q_len, or 0 for that product");
      })
      .then([&] {
        return require_between("limits.num_workers", limits.num_workers, 1, kMaxWorkers, "must be from 1 to 4096");
      })
      .then([&] {
        return require_between("limits.split_limit", limits.split_limit, 0, INT32_MAX, "must not be negative");
      })
      .then([&] { return check_tile(limits.tile); })
      .then([&] { return check_cost(limits.cost); });
  return refusal.status();
}

Status validate(const DecodeInputs& inputs, const DecodeOutputs& outputs, const PlanLimits& limits,
                const void* workspace, std::size_t workspace_bytes) {
  FirstRefusal refusal;
  refusal.then([&] { return check_types(inputs.q.dtype, inputs.kv.dtype); })
      .then([&] {
        return outputs.out.dtype == DataType::bf16
                   ? Status{}
                   : Status::refuse_name(StatusCode::bad_dtype, "out.dtype", word(outputs.out.dtype), "must be bf16");
      })
      .then([&] { return require_between("heads", inputs.heads, 1, kMaxHeads, "must be from 1 to 128"); })
      .then([&] { return check_page_size(inputs.kv.page_size); })
      .then([&] { return require_between("kv.num_pages", inputs.kv.num_pages, 0, INT64_MAX, "must not be negative"); })
      .then([&] { return validate(limits); })
      .then([&] { return check_agreement(inputs, limits); })
      .then([&] { return check_batch(inputs.batch, limits); })
      .then([&] { return check_scales(inputs); })
      .then([&] { return check_pointers(inputs, outputs); })
      .then([&] { return check_input_strides(inputs); })
      .then([&] { return check_output_strides(outputs, inputs.heads); })
      .then([&] { return check_workspace(limits, workspace, workspace_bytes); });
  return refusal.status();
}

Status validate(const PlanLimits& limits, const RaggedBatchView& batch, std::int32_t page_size, const void* workspace,
                std::size_t workspace_bytes) {
  return FirstRefusal()
      .then([&] { return validate(limits); })
      .then([&] { return check_batch(batch, limits); })
      .then([&] { return check_page_size(page_size); })
      .then([&] { return check_lengths(batch); })
      .then([&] { return check_workspace(limits, workspace, workspace_bytes); })
      .status();
}

Status validate_batch(const RaggedBatchView& batch, const PlanLimits& limits, std::int32_t page_size,
                      std::int64_t num_pages) {
  FirstRefusal refusal;
  refusal.then([&] { return check_page_size(page_size); }).then([&] { return check_batch(batch, limits); });
  for (std::int32_t request = 0; request < batch.batch && refusal.status().ok(); ++request) {
    refusal.then([&] { return check_query(batch, limits, request); }).then([&] {
      return check_kv(batch, page_size, num_pages, request);
    });
  }
  return refusal.status();
}

}  // namespace mla
