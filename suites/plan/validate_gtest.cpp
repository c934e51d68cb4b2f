// What a decode call refuses, and the line that says why.
#include "mla/validate.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace mla {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::StartsWith;

// A call that is in order; a test spoils one argument of it. Nothing is read through the data pointers.
struct Call {
  alignas(256) std::array<std::byte, 256> memory{};
  std::vector<std::int32_t> indices = std::vector<std::int32_t>(8, 0);
  PlanLimits limits;
  DecodeInputs inputs;
  DecodeOutputs outputs;
  const void* workspace = memory.data();
  std::size_t workspace_bytes = 0;

  explicit Call(DataType q = DataType::bf16, DataType kv = DataType::bf16) {
    limits.q_dtype = q;
    limits.kv_dtype = kv;
    limits.heads = 16;
    limits.max_batch = 4;
    limits.max_q_len = 4;
    limits.num_workers = 8;
    workspace_bytes = workspace_size(limits);
    inputs.q = {memory.data(), q, 16 * kHeadDim, kHeadDim};
    inputs.kv = {memory.data(), kv, 64 * kHeadDim, kHeadDim, 100, 64};
    inputs.batch = {2, indices.data(), indices.data(), indices.data(), indices.data()};
    inputs.heads = 16;
    inputs.sm_scale = 0.1352338F;
    outputs.out = {memory.data(), DataType::bf16, 16 * kValueDim, kValueDim};
    outputs.lse = {static_cast<float*>(static_cast<void*>(memory.data())), 16, 1};
  }
  Call(const Call&) = delete;
  Call& operator=(const Call&) = delete;

  [[nodiscard]] Status check() const { return validate(inputs, outputs, limits, workspace, workspace_bytes); }
};

template <class Spoil>
std::string refusal(Spoil spoil) {
  Call call;
  spoil(call);
  const Status status = call.check();
  EXPECT_FALSE(status.ok());
  return message(status);
}

TEST(Validate, AcceptsEveryTypePairOfTheContract) {
  for (const auto& [q, kv] :
       {std::pair(DataType::bf16, DataType::bf16), std::pair(DataType::bf16, DataType::e4m3fn),
        std::pair(DataType::bf16, DataType::e4m3fnuz), std::pair(DataType::e4m3fn, DataType::e4m3fn),
        std::pair(DataType::e4m3fnuz, DataType::e4m3fnuz)}) {
    EXPECT_EQ(message(Call(q, kv).check()), "ok");
  }
}

TEST(Validate, RefusesEveryOtherTypePair) {
  EXPECT_EQ(message(Call(DataType::e4m3fn, DataType::bf16).check()), "kv.dtype = bf16: must be fp8 where q is fp8");
  EXPECT_THAT(message(Call(DataType::e4m3fn, DataType::e4m3fnuz).check()),
              StartsWith("kv.dtype = e4m3fnuz: must be the fp8"));
  EXPECT_THAT(message(Call(DataType::e4m3fnuz, DataType::e4m3fn).check()),
              StartsWith("kv.dtype = e4m3fn: must be the fp8"));
  EXPECT_THAT(message(Call(DataType::f32, DataType::bf16).check()), StartsWith("q.dtype = f32: must be bf16, e4m3fn"));
  EXPECT_THAT(message(Call(DataType::bf16, DataType::f32).check()), StartsWith("kv.dtype = f32: must be bf16, e4m3fn"));
  EXPECT_EQ(refusal([](Call& c) { c.outputs.out.dtype = DataType::f32; }), "out.dtype = f32: must be bf16");
}

TEST(Validate, NamesArgumentValueAndRuleInOneLine) {
  EXPECT_EQ(refusal([](Call& c) { c.inputs.kv.page_size = 48; }),
            "kv.page_size = 48: must be a power of two from 1 to 256");
  EXPECT_EQ(refusal([](Call& c) { c.inputs.kv.page_size = 0; }),
            "kv.page_size = 0: must be a power of two from 1 to 256");
  EXPECT_EQ(refusal([](Call& c) { c.inputs.kv.page_size = 512; }),
            "kv.page_size = 512: must be a power of two from 1 to 256");
  EXPECT_EQ(refusal([](Call& c) { c.inputs.heads = 0; }), "heads = 0: must be from 1 to 128");
  EXPECT_EQ(refusal([](Call& c) { c.inputs.heads = 129; }), "heads = 129: must be from 1 to 128");
  EXPECT_EQ(refusal([](Call& c) { c.limits.max_q_len = 9; }), "limits.max_q_len = 9: must be from 1 to 8");
  EXPECT_EQ(refusal([](Call& c) { c.limits.num_workers = 0; }), "limits.num_workers = 0: must be from 1 to 4096");
  EXPECT_EQ(refusal([](Call& c) { c.limits.cost.work = -1; }), "limits.cost.work = -1: must be from 0 to 2^24");
  EXPECT_EQ(refusal([](Call& c) { c.limits.tile.tokens = 48; }),
            "limits.tile.tokens = 48: must be a power of two from 1 to 4096");
  EXPECT_EQ(refusal([](Call& c) { c.inputs.batch.batch = 5; }), "batch = 5: must not exceed the limits' max_batch");
  EXPECT_EQ(refusal([](Call& c) { c.inputs.batch.batch = -1; }), "batch = -1: must not be negative");
  EXPECT_EQ(refusal([](Call& c) { c.inputs.kv.num_pages = -1; }), "kv.num_pages = -1: must not be negative");
  EXPECT_EQ(refusal([](Call& c) { c.inputs.heads = 8; }), "heads = 8: must be the limits' heads");
  EXPECT_EQ(refusal([](Call& c) { c.inputs.causal = false; }), "causal = false: must be the limits' causal");
}

TEST(Validate, RefusesScalesThatAreNotPositiveAndFinite) {
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  EXPECT_EQ(refusal([](Call& c) { c.inputs.sm_scale = 0; }), "sm_scale = 0: must be finite and above zero");
  EXPECT_EQ(refusal([](Call& c) { c.inputs.q_scale = -0.5F; }), "q_scale = -0.5: must be finite and above zero");
  EXPECT_EQ(refusal([](Call& c) { c.inputs.kv_scale = kInfinity; }), "kv_scale = inf: must be finite and above zero");
  EXPECT_THAT(refusal([](Call& c) { c.inputs.sm_scale = std::numeric_limits<float>::quiet_NaN(); }),
              StartsWith("sm_scale = "));
}

TEST(Validate, RefusesNullPointersByName) {
  EXPECT_EQ(refusal([](Call& c) { c.inputs.q.data = nullptr; }), "q.data = null: must not be null");
  EXPECT_EQ(refusal([](Call& c) { c.inputs.kv.data = nullptr; }), "kv.data = null: must not be null");
  EXPECT_EQ(refusal([](Call& c) { c.outputs.out.data = nullptr; }), "out.data = null: must not be null");
  EXPECT_EQ(refusal([](Call& c) { c.outputs.lse.data = nullptr; }), "lse.data = null: must not be null");
  EXPECT_EQ(refusal([](Call& c) { c.inputs.batch.qo_indptr = nullptr; }), "qo_indptr = null: must not be null");
  EXPECT_EQ(refusal([](Call& c) { c.inputs.batch.kv_indptr = nullptr; }), "kv_indptr = null: must not be null");
  EXPECT_EQ(refusal([](Call& c) { c.inputs.batch.kv_indices = nullptr; }), "kv_indices = null: must not be null");
  EXPECT_EQ(refusal([](Call& c) { c.inputs.batch.kv_last_page_len = nullptr; }),
            "kv_last_page_len = null: must not be null");
  EXPECT_EQ(refusal([](Call& c) { c.workspace = nullptr; }), "workspace = null: must not be null");
}

TEST(Validate, NeedsNoPointersForNothing) {
  Call empty_batch;
  empty_batch.inputs.batch = {};
  empty_batch.inputs.q.data = nullptr;
  EXPECT_EQ(message(empty_batch.check()), "ok");
  Call empty_pool;
  empty_pool.inputs.kv.num_pages = 0;
  empty_pool.inputs.kv.data = nullptr;
  empty_pool.inputs.batch.kv_indices = nullptr;
  EXPECT_EQ(message(empty_pool.check()), "ok");
}

TEST(Validate, RefusesMisalignedAddresses) {
  const auto moved = [](const void* pointer, int bytes) { return static_cast<const std::byte*>(pointer) + bytes; };
  EXPECT_THAT(refusal([&](Call& c) { c.inputs.q.data = moved(c.inputs.q.data, 8); }),
              StartsWith("q.data = 8: address must"));
  EXPECT_THAT(refusal([&](Call& c) { c.inputs.kv.data = moved(c.inputs.kv.data, 2); }),
              StartsWith("kv.data = 2: address"));
  EXPECT_THAT(refusal([](Call& c) { c.outputs.out.data = c.memory.data() + 4; }),
              StartsWith("out.data = 4: address must"));
  EXPECT_THAT(refusal([&](Call& c) { c.workspace = moved(c.workspace, 16); }),
              AllOf(StartsWith("workspace = 16"), HasSubstr("256")));
}

TEST(Validate, RefusesStridesTooSmallOrOffTheVectorBoundary) {
  EXPECT_EQ(refusal([](Call& c) { c.inputs.q.head_stride = 575; }), "q.head_stride = 575: must be at least 576, a row");
  EXPECT_EQ(refusal([](Call& c) { c.inputs.q.token_stride = -576; }),
            "q.token_stride = -576: must be at least 576, a row");
  EXPECT_EQ(refusal([](Call& c) { c.inputs.kv.token_stride = 512; }),
            "kv.token_stride = 512: must be at least 576, a row");
  EXPECT_EQ(refusal([](Call& c) { c.inputs.kv.page_stride = 63 * kHeadDim; }),
            "kv.page_stride = 36288: must hold the tokens of a page");
  EXPECT_EQ(refusal([](Call& c) { c.outputs.out.head_stride = 504; }),
            "out.head_stride = 504: must be at least 512, a row");
  EXPECT_EQ(refusal([](Call& c) { c.outputs.out.token_stride = 15 * kValueDim; }),
            "out.token_stride = 7680: must hold all heads of a token");
  EXPECT_EQ(refusal([](Call& c) { c.outputs.lse.token_stride = 15; }),
            "lse.token_stride = 15: must hold all heads of a token");
  EXPECT_EQ(refusal([](Call& c) { c.outputs.lse.head_stride = 0; }), "lse.head_stride = 0: must be from 1 to 2^48");
  EXPECT_EQ(refusal([](Call& c) { c.inputs.q.token_stride += 4; }),
            "q.token_stride = 9220: times the element size must be a multiple of 16 bytes");
  Call fp8(DataType::e4m3fn, DataType::e4m3fn);
  fp8.inputs.kv.page_stride += 8;
  EXPECT_EQ(message(fp8.check()), "kv.page_stride = 36872: times the element size must be a multiple of 16 bytes");
}

TEST(Validate, AcceptsPaddedAndHeadMajorLayouts) {
  Call padded;
  padded.inputs.q.head_stride = 640;
  padded.inputs.q.token_stride = 16 * 640 + 8;
  padded.inputs.kv.page_stride = 65 * 600;
  padded.inputs.kv.token_stride = 600;
  EXPECT_EQ(message(padded.check()), "ok");
  Call head_major;
  head_major.outputs.out.token_stride = kValueDim;
  head_major.outputs.out.head_stride = 100 * kValueDim;
  head_major.outputs.lse = {head_major.outputs.lse.data, 1, 100};
  EXPECT_EQ(message(head_major.check()), "ok");
}

TEST(Validate, RefusesAWorkspaceOneByteShort) {
  EXPECT_THAT(refusal([](Call& c) { --c.workspace_bytes; }),
              AllOf(StartsWith("workspace_bytes = "), HasSubstr("at least")));
  Call exact;
  EXPECT_TRUE(exact.check().ok());
}

// Host copies of the index arrays of three requests.
struct Arrays {
  std::vector<std::int32_t> qo_indptr{0, 1, 2, 3};
  std::vector<std::int32_t> kv_indptr{0, 2, 2, 5};
  std::vector<std::int32_t> kv_indices{4, 3, 2, 1, 0};
  std::vector<std::int32_t> kv_last_page_len{16, 0, 1};
};

template <class Spoil>
std::string batch_message(Spoil spoil) {
  Arrays arrays;
  spoil(arrays);
  PlanLimits limits = Call().limits;
  limits.max_total_q = 6;
  const RaggedBatchView view{3, arrays.qo_indptr.data(), arrays.kv_indptr.data(), arrays.kv_indices.data(),
                             arrays.kv_last_page_len.data()};
  return message(validate_batch(view, limits, 16, 5));
}

TEST(ValidateBatch, ChecksTheContents) {
  EXPECT_EQ(batch_message([](Arrays&) {}), "ok");
  EXPECT_EQ(batch_message([](Arrays& a) { a.qo_indptr = {0, 0, 0, 4}; }), "ok");
  EXPECT_EQ(batch_message([](Arrays& a) { a.qo_indptr[3] = 11; }),
            "q_len[2] = 9: must not exceed the limits' max_q_len");
  EXPECT_EQ(batch_message([](Arrays& a) { a.qo_indptr[1] = -1; }), "q_len[0] = -1: must not be negative");
  EXPECT_THAT(batch_message([](Arrays& a) {
                a.qo_indptr = {0, 3, 6, 7};
              }),
              StartsWith("qo_indptr[3] = 7: query tokens"));
  EXPECT_THAT(batch_message([](Arrays& a) { a.kv_indptr[1] = -1; }), StartsWith("kv_indptr[1] = -1: must begin"));
  EXPECT_EQ(batch_message([](Arrays& a) { a.kv_last_page_len[0] = 17; }),
            "kv_last_page_len[0] = 17: must be from 1 to the page size");
  EXPECT_EQ(batch_message([](Arrays& a) { a.kv_last_page_len[2] = 0; }),
            "kv_last_page_len[2] = 0: must be from 1 to the page size");
  EXPECT_EQ(batch_message([](Arrays& a) { a.kv_indices[3] = 5; }), "kv_indices[3] = 5: must be a page of the pool");
}

TEST(Status, IsCutToTheBuffer) {
  std::array<char, 12> buffer{};
  format_message(Status::refuse(StatusCode::bad_value, "kv_indices", 5, "must be a page of the pool", 3), buffer.data(),
                 buffer.size());
  EXPECT_STREQ(buffer.data(), "kv_indices[");
}

}  // namespace
}  // namespace mla
