// Bad arguments are refused by the launches with a status that names argument, value and rule, and nothing is launched.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <functional>
#include <limits>
#include <ostream>
#include <string>
#include <vector>

#include "mla/validate.hpp"
#include "suites/api/device_call.hpp"

namespace mla::test {
namespace {

using harness::hip::Graph;
using testing::StartsWith;

const CallShape kShape{.name = "refusals", .max_batch = 2, .max_q_len = 2};
const CallContents kContents{{2, 1}, {20, 33}, 1};

DataType other_encoding(DataType fp8) {
  return fp8 == DataType::e4m3fn ? DataType::e4m3fnuz : DataType::e4m3fn;
}

/// A fault, and how the refusals of launch_plan and launch_decode begin; empty where the fault is not that one's.
struct Refusal {
  std::string name;
  std::function<void(DeviceCall&)> spoil;
  std::string plan;
  std::string decode;

  friend void PrintTo(const Refusal& refusal, std::ostream* text) { *text << refusal.name; }
};

template <class T>
T* moved(T* pointer, std::size_t bytes) {
  return reinterpret_cast<T*>(reinterpret_cast<std::uintptr_t>(pointer) + bytes);
}

std::vector<Refusal> type_refusals() {
  const auto types = [](DataType q, DataType kv) {
    return [q, kv](DeviceCall& c) {
      c.inputs.q.dtype = c.limits.q_dtype = q;
      c.inputs.kv.dtype = c.limits.kv_dtype = kv;
    };
  };
  constexpr DataType kBf16 = DataType::bf16;
  constexpr DataType kFn = DataType::e4m3fn;
  constexpr DataType kFnuz = DataType::e4m3fnuz;
  const auto both = [](std::string name, std::function<void(DeviceCall&)> spoil, std::string text) {
    return Refusal{std::move(name), std::move(spoil), text, text};
  };
  return {
      both("fp8_queries_bf16_kv", types(kFn, kBf16), "kv.dtype = bf16: must be fp8 where q is fp8"),
      both("encodings_mixed", types(kFn, kFnuz), "kv.dtype = e4m3fnuz: must be the fp8 encoding of q"),
      both("encodings_mixed_the_other_way", types(kFnuz, kFn), "kv.dtype = e4m3fn: must be the fp8 encoding of q"),
      both("float32_queries", types(DataType::f32, kBf16), "q.dtype = f32: must be bf16, e4m3fn or e4m3fnuz"),
      both("float32_kv", types(kBf16, DataType::f32), "kv.dtype = f32: must be bf16, e4m3fn or e4m3fnuz"),
      both("no_type_at_all", types(kBf16, static_cast<DataType>(77)), "kv.dtype = ?: must be bf16, e4m3fn or e4m3fnuz"),
      both(
          "encoding_of_another_target", [types](DeviceCall& c) { types(kBf16, other_encoding(c.model.fp8))(c); },
          "limits.kv_dtype = e4m3fn"),
      {"float32_output", [](DeviceCall& c) { c.outputs.out.dtype = DataType::f32; }, "",
       "out.dtype = f32: must be bf16"},
      {"types_of_another_plan", [](DeviceCall& c) { c.inputs.kv.dtype = c.model.fp8; }, "", "kv.dtype = e4m3fn"},
  };
}

std::vector<Refusal> value_refusals() {
  constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();
  return {
      {"page_48", [](DeviceCall& c) { c.inputs.kv.page_size = 48; },
       "kv.page_size = 48: must be a power of two from 1 to 256", "kv.page_size = 48: must be a power of two"},
      {"page_512", [](DeviceCall& c) { c.inputs.kv.page_size = 512; }, "kv.page_size = 512: must be",
       "kv.page_size = 512: must be"},
      {"page_0", [](DeviceCall& c) { c.inputs.kv.page_size = 0; }, "kv.page_size = 0: must be",
       "kv.page_size = 0: must be"},
      {"heads_0", [](DeviceCall& c) { c.inputs.heads = c.limits.heads = 0; }, "limits.heads = 0: must be from 1 to 128",
       "heads = 0: must be from 1 to 128"},
      {"heads_129", [](DeviceCall& c) { c.inputs.heads = c.limits.heads = 129; },
       "limits.heads = 129: must be from 1 to 128", "heads = 129: must be from 1 to 128"},
      {"heads_of_another_plan", [](DeviceCall& c) { c.inputs.heads = 8; }, "", "heads = 8: must be the limits' heads"},
      {"mask_of_another_plan", [](DeviceCall& c) { c.inputs.causal = false; }, "",
       "causal = false: must be the limits' causal"},
      {"q_len_9", [](DeviceCall& c) { c.limits.max_q_len = 9; }, "limits.max_q_len = 9: must be from 1 to 8",
       "limits.max_q_len = 9: must be from 1 to 8"},
      {"batch_negative", [](DeviceCall& c) { c.inputs.batch.batch = -1; }, "batch = -1: must not be negative",
       "batch = -1: must not be negative"},
      {"batch_beyond_the_limits", [](DeviceCall& c) { c.inputs.batch.batch = 3; },
       "batch = 3: must not exceed the limits' max_batch", "batch = 3: must not exceed the limits' max_batch"},
      {"no_requests_allowed", [](DeviceCall& c) { c.limits.max_batch = 0; }, "limits.max_batch = 0: must be from 1",
       "limits.max_batch = 0: must be from 1"},
      {"pool_negative", [](DeviceCall& c) { c.inputs.kv.num_pages = -1; }, "", "kv.num_pages = -1: must not be"},
      {"scale_zero", [](DeviceCall& c) { c.inputs.sm_scale = 0; }, "", "sm_scale = 0: must be finite and above zero"},
      {"scale_nan", [kNaN](DeviceCall& c) { c.inputs.q_scale = kNaN; }, "", "q_scale = "},
      {"scale_negative", [](DeviceCall& c) { c.inputs.kv_scale = -1; }, "", "kv_scale = -1: must be finite and above"},
      {"no_workers", [](DeviceCall& c) { c.limits.num_workers = 0; }, "limits.num_workers = 0: must be from 1 to 4096",
       "limits.num_workers = 0: must be from 1 to 4096"},
      {"tile_cut_too_finely",
       [](DeviceCall& c) {
         c.limits.tile.tokens = 8;
         c.workspace_bytes = workspace_size(c.limits);
       },
       "limits.tile.tokens = 8: must be at least ", "limits.tile.tokens = 8: must be at least "},
      {"tile_without_a_kernel",
       [](DeviceCall& c) {
         c.limits.tile.min_rows = c.limits.tile.max_rows = c.limits.tile.max_rows_fp8 = 256;
         c.workspace_bytes = workspace_size(c.limits);
       },
       "limits.tile = 256: rows of a tile", "limits.tile = 256: rows of a tile"},
  };
}

std::vector<Refusal> pointer_refusals() {
  return {
      {"no_q", [](DeviceCall& c) { c.inputs.q.data = nullptr; }, "", "q.data = null: must not be null"},
      {"no_kv", [](DeviceCall& c) { c.inputs.kv.data = nullptr; }, "", "kv.data = null: must not be null"},
      {"no_out", [](DeviceCall& c) { c.outputs.out.data = nullptr; }, "", "out.data = null: must not be null"},
      {"no_lse", [](DeviceCall& c) { c.outputs.lse.data = nullptr; }, "", "lse.data = null: must not be null"},
      {"no_qo_indptr", [](DeviceCall& c) { c.inputs.batch.qo_indptr = nullptr; }, "qo_indptr = null: must not be null",
       "qo_indptr = null: must not be null"},
      {"no_kv_indptr", [](DeviceCall& c) { c.inputs.batch.kv_indptr = nullptr; }, "kv_indptr = null: must not be null",
       "kv_indptr = null: must not be null"},
      {"no_kv_indices", [](DeviceCall& c) { c.inputs.batch.kv_indices = nullptr; }, "",
       "kv_indices = null: must not be null"},
      {"no_last_page_len", [](DeviceCall& c) { c.inputs.batch.kv_last_page_len = nullptr; },
       "kv_last_page_len = null: must not be null", "kv_last_page_len = null: must not be null"},
      {"no_workspace", [](DeviceCall& c) { c.workspace = nullptr; }, "workspace = null: must not be null",
       "workspace = null: must not be null"},
      {"workspace_a_byte_short", [](DeviceCall& c) { --c.workspace_bytes; },
       "workspace_bytes = ", "workspace_bytes = "},
      {"workspace_empty", [](DeviceCall& c) { c.workspace_bytes = 0; },
       "workspace_bytes = 0: must be at least workspace_size(limits)",
       "workspace_bytes = 0: must be at least workspace_size(limits)"},
      {"workspace_misaligned", [](DeviceCall& c) { c.workspace = moved(static_cast<char*>(c.workspace), 128); },
       "workspace = 128: address must be a multiple of 256", "workspace = 128: address must be a multiple of 256"},
      {"q_misaligned", [](DeviceCall& c) { c.inputs.q.data = moved(static_cast<const char*>(c.inputs.q.data), 8); }, "",
       "q.data = 8: address must be a multiple of 16"},
      {"out_misaligned", [](DeviceCall& c) { c.outputs.out.data = moved(static_cast<char*>(c.outputs.out.data), 2); },
       "", "out.data = 2: address must be a multiple of 16"},
      {"lengths_misaligned", [](DeviceCall& c) { c.inputs.batch.kv_indptr = moved(c.inputs.batch.kv_indptr, 2); },
       "kv_indptr = 2: address must be a multiple of 4", "kv_indptr = 2: address must be a multiple of 4"},
  };
}

std::vector<Refusal> stride_refusals() {
  constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max();
  const auto decode = [](std::string name, std::function<void(DeviceCall&)> spoil, std::string text) {
    return Refusal{std::move(name), std::move(spoil), "", std::move(text)};
  };
  return {
      decode(
          "q_token_stride_negative", [](DeviceCall& c) { c.inputs.q.token_stride *= -1; },
          "q.token_stride = -9216: must be at least 576, a row"),
      decode(
          "q_head_stride_short", [](DeviceCall& c) { c.inputs.q.head_stride = 575; },
          "q.head_stride = 575: must be at least 576, a row"),
      decode(
          "q_token_stride_off_the_vectors", [](DeviceCall& c) { c.inputs.q.token_stride += 4; },
          "q.token_stride = 9220: times the element size must be a multiple of 16 bytes"),
      decode(
          "kv_token_stride_zero", [](DeviceCall& c) { c.inputs.kv.token_stride = 0; },
          "kv.token_stride = 0: must be at least 576, a row"),
      decode(
          "kv_page_stride_negative", [](DeviceCall& c) { c.inputs.kv.page_stride *= -1; },
          "kv.page_stride = -9216: must hold the tokens of a page"),
      decode(
          "kv_token_stride_overflows", [=](DeviceCall& c) { c.inputs.kv.token_stride = kMost / 16 * 8; },
          "kv.token_stride = 4611686018427387896: must be at most 2^48"),
      decode(
          "out_head_stride_short", [](DeviceCall& c) { c.outputs.out.head_stride = 504; },
          "out.head_stride = 504: must be at least 512, a row"),
      decode(
          "out_rows_overlap", [](DeviceCall& c) { c.outputs.out.token_stride = 15 * kValueDim; },
          "out.token_stride = 7680: must hold all heads of a token"),
      decode(
          "lse_head_stride_negative", [](DeviceCall& c) { c.outputs.lse.head_stride = -1; },
          "lse.head_stride = -1: must be from 1 to 2^48"),
      decode(
          "lse_stride_overflows", [=](DeviceCall& c) { c.outputs.lse.token_stride = kMost; },
          "lse.token_stride = 9223372036854775807: must be from 1 to 2^48"),
  };
}

std::vector<Refusal> refusals() {
  std::vector<Refusal> all;
  for (const auto& some : {type_refusals(), value_refusals(), pointer_refusals(), stride_refusals()}) {
    all.insert(all.end(), some.begin(), some.end());
  }
  return all;
}

class RefusedCall : public testing::TestWithParam<Refusal> {};

/// The launches that a call puts on the stream, as a capture of it counts them.
template <class Call>
std::size_t launches_of(DeviceCall& call, const Call& enqueue) {
  return Graph(call.stream, enqueue).nodes();
}

TEST_P(RefusedCall, NamesArgumentAndRuleAndLaunchesNothing) {
  const Refusal& refusal = GetParam();
  DeviceCall call(kShape, 64);
  call.set(kContents);
  call.poison();
  const std::vector<std::byte> outputs = call.output_bytes();
  const std::vector<std::byte> workspace = call.workspace_bytes_on_host();
  refusal.spoil(call);
  const auto expect_refused = [&](const std::string& text, Status (DeviceCall::*launch)()) {
    if (text.empty()) return;
    Status captured;
    EXPECT_EQ(launches_of(call, [&] { captured = (call.*launch)(); }), 0U);
    EXPECT_THAT(message(captured), StartsWith(text));
    EXPECT_THAT(message((call.*launch)()), StartsWith(text));
  };
  expect_refused(refusal.plan, &DeviceCall::plan);
  expect_refused(refusal.decode, &DeviceCall::decode);
  call.stream.synchronize();
  EXPECT_EQ(call.output_bytes(), outputs);
  EXPECT_EQ(call.workspace_bytes_on_host(), workspace);
}

INSTANTIATE_TEST_SUITE_P(Faults, RefusedCall, testing::ValuesIn(refusals()),
                         [](const auto& shown) { return shown.param.name; });

// What the test above counts is there to be counted where nothing is wrong.
TEST(RefusalTest, AGoodCallLaunchesAndWrites) {
  DeviceCall call(kShape, 64);
  call.set(kContents);
  call.poison();
  const std::vector<std::byte> poisoned = call.output_bytes();
  EXPECT_EQ(launches_of(call, [&] { EXPECT_EQ(message(call.plan()), "ok"); }), 1U);
  EXPECT_GE(launches_of(call, [&] { EXPECT_EQ(message(call.decode()), "ok"); }), 1U);
  EXPECT_EQ(call.output_bytes(), poisoned) << "a capture must not run anything";
  EXPECT_NE(call.eager(), poisoned);
}

TEST(RefusalTest, PrepareRefusesWhatNoKernelServes) {
  DeviceCall call(kShape, 64);
  const auto refused = [&](auto spoil) {
    PlanLimits limits = call.limits;
    spoil(limits);
    return message(prepare(limits));
  };
  EXPECT_EQ(refused([](PlanLimits&) {}), "ok");
  EXPECT_EQ(refused([](PlanLimits& l) { l.heads = 129; }), "limits.heads = 129: must be from 1 to 128");
  EXPECT_EQ(refused([](PlanLimits& l) { l.max_q_len = 9; }), "limits.max_q_len = 9: must be from 1 to 8");
  EXPECT_THAT(refused([](PlanLimits& l) { l.tile.tokens = 8; }),
              StartsWith("limits.tile.tokens = 8: must be at least "));
  EXPECT_THAT(refused([&](PlanLimits& l) { l.kv_dtype = other_encoding(call.model.fp8); }),
              StartsWith("limits.kv_dtype = e4m3fn"));
  EXPECT_EQ(message(describe_device(nullptr)), "model = 0: must not be null");
}

/// What the host cannot see: lengths that lie in device memory.
struct LengthFault {
  std::string name;
  std::vector<int> q_len;
  std::vector<int> kv_len;
  std::string on_host;
  std::string on_device;

  friend void PrintTo(const LengthFault& fault, std::ostream* text) { *text << fault.name; }
};

class RefusedLengths : public testing::TestWithParam<LengthFault> {};

TEST_P(RefusedLengths, OnTheHostBeforeAndOnTheDeviceInsteadOfWork) {
  const LengthFault& fault = GetParam();
  DeviceCall call(kShape, 64);
  call.set({fault.q_len, fault.kv_len, 1});
  call.poison();
  EXPECT_THAT(message(validate_batch(call.host_batch(), call.limits, call.shape.page_size, call.inputs.kv.num_pages)),
              StartsWith(fault.on_host));
  const std::vector<std::byte> poisoned = call.output_bytes();
  EXPECT_EQ(call.eager(), poisoned);
  EXPECT_EQ(call.header().num_works, 0);
  EXPECT_THAT(message(status_of(call.header())), StartsWith(fault.on_device));
}

INSTANTIATE_TEST_SUITE_P(
    Faults, RefusedLengths,
    testing::Values(LengthFault{"kv_negative", {1, 1}, {40, -40}, "kv_indptr[2] = ", "kv_len[1] = "},
                    LengthFault{"q_len_9", {1, 9}, {20, 20}, "q_len[1] = 9: must not exceed", "q_len[1] = "},
                    LengthFault{"q_len_negative", {2, -1}, {20, 20}, "q_len[1] = -1: must not be", "q_len[1] = "}),
    [](const auto& shown) { return shown.param.name; });

}  // namespace
}  // namespace mla::test
