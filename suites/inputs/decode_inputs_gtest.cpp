#include "harness/inputs/decode_inputs.hpp"

#include <omp.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <ostream>
#include <set>
#include <string>
#include <tuple>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "harness/core/error.hpp"
#include "harness/inputs/poison.hpp"
#include "suites/inputs/made_inputs.hpp"

namespace mla::harness {
namespace {

using ::testing::Contains;
using ::testing::Each;
using ::testing::ElementsAre;

using Bytes = std::vector<std::byte>;

// q and kv by logical position: what a kernel sees once it has followed strides and page table.
struct Contents {
  Bytes q;
  Bytes kv;
  bool operator==(const Contents&) const = default;
};

Contents contents_of(const MadeInputs& made, int heads) {
  Contents contents;
  for (std::int64_t row = 0; row < made.problem.total_q(); ++row) {
    for (int head = 0; head < heads; ++head) {
      const auto bytes = made.q_row(row, head);
      contents.q.insert(contents.q.end(), bytes.begin(), bytes.end());
    }
  }
  for (int request = 0; request < made.problem.batch(); ++request) {
    for (std::int64_t position = 0; position < made.problem.kv_len(request); ++position) {
      const auto bytes = made.kv_row(request, position);
      contents.kv.insert(contents.kv.end(), bytes.begin(), bytes.end());
    }
  }
  return contents;
}

Contents contents_of(const Fields& fields) {
  const MadeInputs made(fields);
  return contents_of(made, fields.heads);
}

Fields ragged(Distribution distribution = Distribution::randn) {
  return {.heads = 3,
          .q_lens = {1, 4, 0, 2, 1, 1},
          .kv_lens = {300, 2, 17, 64, 0, 0},
          .batch = 6,
          .distribution = distribution,
          .seed = 11};
}

Fields with_types(Fields fields, ElementType q, ElementType kv) {
  fields.q_type = q;
  fields.kv_type = kv;
  fields.q_scale = q == ElementType::bf16 ? 1 : kDefaultFp8Scale;
  fields.kv_scale = kv == ElementType::bf16 ? 1 : kDefaultFp8Scale;
  return fields;
}

class LogicalContents : public ::testing::TestWithParam<Distribution> {
 protected:
  [[nodiscard]] Contents with(auto change) const {
    Fields fields = ragged(GetParam());
    change(fields);
    return contents_of(fields);
  }
  Contents base_ = contents_of(ragged(GetParam()));
};

TEST_P(LogicalContents, DoNotDependOnPageSize) {
  for (const int page_size : {1, 2, 16, 256}) {
    EXPECT_EQ(with([&](Fields& fields) { fields.page_size = page_size; }), base_) << page_size;
  }
}

TEST_P(LogicalContents, DoNotDependOnThePool) {
  EXPECT_EQ(with([](Fields& fields) { fields.pool_pages = 50; }), base_);
  EXPECT_EQ(with([](Fields& fields) { fields.pool_pages = 100'000; }), base_);
}

TEST_P(LogicalContents, DoNotDependOnTheLayout) {
  EXPECT_EQ(with([](Fields& fields) { fields.layout = Layout::padded; }), base_);
}

TEST_P(LogicalContents, OfAHeadDoNotDependOnTheNumberOfHeads) {
  Fields fields = ragged(GetParam());
  fields.heads = 128;
  EXPECT_EQ(contents_of(MadeInputs(fields), 3), base_);
}

TEST_P(LogicalContents, DependOnTheSeed) {
  const Contents other = with([](Fields& fields) { fields.seed = 12; });
  EXPECT_NE(other.q, base_.q);
  EXPECT_NE(other.kv, base_.kv);
}

INSTANTIATE_TEST_SUITE_P(Distributions, LogicalContents,
                         ::testing::Values(Distribution::randn, Distribution::sharp, Distribution::needle));

// Heads, query tokens, requests and positions must all differ, or swapping them would go unnoticed.
TEST(DecodeInputs, NoTwoRowsAreEqual) {
  const MadeInputs made(ragged());
  std::set<std::string> rows;
  std::size_t count = 0;
  const auto add = [&](std::span<const std::byte> row) {
    rows.emplace(reinterpret_cast<const char*>(row.data()), row.size());
    ++count;
  };
  for (std::int64_t row = 0; row < made.problem.total_q(); ++row) {
    for (int head = 0; head < 3; ++head) add(made.q_row(row, head));
  }
  for (int request = 0; request < made.problem.batch(); ++request) {
    for (std::int64_t position = 0; position < made.problem.kv_len(request); ++position) {
      add(made.kv_row(request, position));
    }
  }
  EXPECT_EQ(rows.size(), count);
}

TEST(DecodeInputs, EveryByteIsTheSameWhateverTheThreads) {
  const auto all_bytes = [](int threads) {
    const int before = omp_get_max_threads();
    omp_set_num_threads(threads);
    const MadeInputs made(ragged(Distribution::needle));
    omp_set_num_threads(before);
    Bytes bytes;
    for (const Buffer* buffer : {&made.buffers.q, &made.buffers.kv, &made.buffers.kv_indices}) {
      bytes.insert(bytes.end(), buffer->whole.begin(), buffer->whole.end());
    }
    return bytes;
  };
  const Bytes one = all_bytes(1);
  EXPECT_EQ(all_bytes(2), one);
  EXPECT_EQ(all_bytes(5), one);
}

TEST(DecodeInputs, BatchDescribesTheProblem) {
  const MadeInputs made(ragged());
  const RaggedBatchView batch = made.views().batch;
  ASSERT_EQ(batch.batch, 6);
  for (int request = 0; request < 6; ++request) {
    EXPECT_EQ(batch.query_length(request), made.problem.q_len(request));
    EXPECT_EQ(batch.kv_length(request, 64), made.problem.kv_len(request));
  }
  EXPECT_EQ(batch.kv_last_page_len[3], 64) << "an exact multiple fills its last page";
  EXPECT_THAT(std::vector(batch.kv_last_page_len + 4, batch.kv_last_page_len + 6), ElementsAre(0, 1))
      << "both values must be ignored where a request has no page";
  EXPECT_THAT(made.buffers.kv_indices.data().size(), (5 + 1 + 1 + 1 + 64) * sizeof(std::int32_t));
}

TEST(DecodeInputs, SpareIndicesPointFarOutsideThePool) {
  const MadeInputs made(ragged());
  const auto used = static_cast<std::ptrdiff_t>(made.problem.total_pages());
  const auto* const begin = made.buffers.kv_indices.as<std::int32_t>();
  const auto* const end = begin + made.buffers.kv_indices.data().size() / sizeof(std::int32_t);
  EXPECT_GT(end - begin, used);
  EXPECT_THAT(std::vector(begin + used, end), Each(kUnreadableIndex));
  EXPECT_GT(kUnreadableIndex, made.layout.pool_pages());
}

struct TypesAndLayout {
  ElementType q, kv;
  Layout layout;
};

std::ostream& operator<<(std::ostream& out, const TypesAndLayout& c) {
  return out << name_of(resolve(c.q, DataType::e4m3fn)) << "_" << name_of(resolve(c.kv, DataType::e4m3fn))
             << (c.layout == Layout::dense ? "_dense" : "_padded");
}

class Unreadable : public ::testing::TestWithParam<TypesAndLayout> {
 protected:
  // Marks the elements that a kernel may read and expects a number there, NaN everywhere else.
  static void expect_nan_elsewhere(const Buffer& buffer, DataType type, const std::vector<std::size_t>& rows) {
    const auto size = static_cast<std::size_t>(size_in_bytes(type));
    std::vector<bool> readable(buffer.data().size() / size);
    for (const std::size_t row : rows) std::fill_n(readable.begin() + static_cast<std::ptrdiff_t>(row), kHeadDim, true);
    for (std::size_t i = 0; i < readable.size(); ++i) {
      ASSERT_EQ(std::isfinite(to_float(buffer.data().data() + i * size, type)), readable[i])
          << buffer.name << " element " << i;
    }
  }
  static std::size_t element_of(const Buffer& buffer, std::span<const std::byte> row, DataType type) {
    return static_cast<std::size_t>(row.data() - buffer.data().data()) / static_cast<std::size_t>(size_in_bytes(type));
  }
};

TEST_P(Unreadable, ElementsAreNan) {
  Fields fields = with_types(ragged(Distribution::needle), GetParam().q, GetParam().kv);
  fields.kv_lens = {129, 1, 63, 64, 65, 0};
  fields.layout = GetParam().layout;
  const MadeInputs made(fields);

  std::vector<std::size_t> rows;
  for (std::int64_t row = 0; row < made.problem.total_q(); ++row) {
    for (int head = 0; head < fields.heads; ++head) {
      rows.push_back(element_of(made.buffers.q, made.q_row(row, head), made.layout.q_type()));
    }
  }
  expect_nan_elsewhere(made.buffers.q, made.layout.q_type(), rows);

  rows.clear();
  for (int request = 0; request < made.problem.batch(); ++request) {
    for (std::int64_t position = 0; position < made.problem.kv_len(request); ++position) {
      rows.push_back(element_of(made.buffers.kv, made.kv_row(request, position), made.layout.kv_type()));
    }
  }
  expect_nan_elsewhere(made.buffers.kv, made.layout.kv_type(), rows);
}

INSTANTIATE_TEST_SUITE_P(TypesAndLayouts, Unreadable,
                         ::testing::Values(TypesAndLayout{ElementType::bf16, ElementType::bf16, Layout::dense},
                                           TypesAndLayout{ElementType::bf16, ElementType::bf16, Layout::padded},
                                           TypesAndLayout{ElementType::bf16, ElementType::e4m3fn, Layout::padded},
                                           TypesAndLayout{ElementType::e4m3fnuz, ElementType::e4m3fnuz, Layout::dense},
                                           TypesAndLayout{ElementType::e4m3fn, ElementType::e4m3fn, Layout::padded}));

TEST(DecodeInputs, PaddedStridesLeaveGapsAtEveryLevelAndKeepVectorLoadsLegal) {
  Fields fields = with_types(ragged(), ElementType::e4m3fn, ElementType::e4m3fn);
  fields.layout = Layout::padded;
  const DecodeInputs in = MadeInputs(fields).views();
  EXPECT_GT(in.q.head_stride, kHeadDim);
  EXPECT_GT(in.q.token_stride, 3 * in.q.head_stride);
  EXPECT_GT(in.kv.token_stride, kHeadDim);
  EXPECT_GT(in.kv.page_stride, 64 * in.kv.token_stride);
  for (const std::int64_t stride : {in.q.head_stride, in.q.token_stride, in.kv.token_stride, in.kv.page_stride}) {
    EXPECT_EQ(stride % 16, 0);
  }
}

TEST(DecodeInputs, PlainFp8IsTheTargetsOwn) {
  const Fields fields = with_types(ragged(), ElementType::fp8, ElementType::fp8);
  EXPECT_EQ(MadeInputs(fields, DataType::e4m3fnuz).layout.kv_type(), DataType::e4m3fnuz);
  EXPECT_EQ(MadeInputs(fields, DataType::e4m3fn).layout.q_type(), DataType::e4m3fn);
}

// The same random numbers in another type: the real value, scale times element, differs by rounding alone.
TEST(DecodeInputs, Fp8ElementsTimesScaleAreTheBf16Values) {
  const MadeInputs exact(ragged());
  for (const ElementType type : {ElementType::e4m3fn, ElementType::e4m3fnuz}) {
    const MadeInputs rounded(with_types(ragged(), type, type));
    const auto expect_close = [](const std::vector<double>& a, const std::vector<double>& b) {
      for (std::size_t dim = 0; dim < a.size(); ++dim) {
        // Half a step of e4m3 relative to the value, or of its subnormals.
        ASSERT_NEAR(a[dim], b[dim], std::abs(b[dim]) * (0x1p-4 + 0x1p-8) + kDefaultFp8Scale * 0x1p-10);
      }
    };
    expect_close(rounded.q_values(2, 1), exact.q_values(2, 1));
    expect_close(rounded.kv_values(0, 200), exact.kv_values(0, 200));
  }
}

class SparsePool : public ::testing::Test {
 protected:
  static constexpr std::int64_t kPages = 16'777'216 + 1000;
  MadeInputs made_{Fields{.heads = 1, .kv_lens = {40, 9}, .batch = 2, .page_size = 1, .pool_pages = kPages}};
};

TEST_F(SparsePool, ReachesOffsetsBeyond32Bits) {
  const DecodeInputs in = made_.views();
  ASSERT_GT(made_.buffers.kv.data().size(), std::size_t{1} << 34);
  const std::vector<std::int32_t> pages(in.batch.kv_indices, in.batch.kv_indices + 49);
  for (const int shift : {31, 32}) {
    EXPECT_THAT(pages, Contains((std::int64_t{1} << shift) / (kHeadDim * 2)));
    EXPECT_THAT(pages, Contains((std::int64_t{1} << shift) / (kHeadDim * 2) + 1));
  }
  EXPECT_THAT(pages, Contains(kPages - 1));
  EXPECT_EQ(std::set(pages.begin(), pages.end()).size(), pages.size());
}

TEST_F(SparsePool, CostsOnlyWhatItUses) {
  EXPECT_LE(made_.resident_bytes(), made_.layout.resident_bytes());
  EXPECT_LE(made_.layout.resident_bytes(), 4U << 20);
}

TEST_F(SparsePool, HoldsTheSameContentsAndNanAround) {
  const MadeInputs ordinary(Fields{.heads = 1, .kv_lens = {40, 9}, .batch = 2, .page_size = 1});
  EXPECT_EQ(contents_of(made_, 1), contents_of(ordinary, 1));
  const DecodeInputs in = made_.views();
  const std::set<std::int64_t> used(in.batch.kv_indices, in.batch.kv_indices + 49);
  const auto* const kv = made_.buffers.kv.as<Bfloat16>();
  const auto expect_nan = [&](std::int64_t page) {
    if (page >= kPages || used.contains(page)) return;
    for (int dim = 0; dim < kHeadDim; ++dim) ASSERT_TRUE(std::isnan(kv[page * in.kv.page_stride + dim].to_float()));
  };
  expect_nan(0);
  for (const std::int64_t page : used) {
    expect_nan(page - 1);
    expect_nan(page + 1);
  }
}

TEST(DecodeLayout, StatesExactlyWhatItTakes) {
  for (const Layout kind : {Layout::dense, Layout::padded}) {
    Fields fields = ragged();
    fields.layout = kind;
    const DecodeProblem problem(fields);
    const DecodeLayout layout(problem, DataType::e4m3fn);
    Arena inputs = Arena::create(layout.input_bytes());
    Arena outputs = Arena::create(layout.output_bytes());
    static_cast<void>(layout.take_inputs(inputs));
    static_cast<void>(layout.take_outputs(outputs));
    EXPECT_THROW(static_cast<void>(inputs.take("more", 0)), EnvironmentError);
    EXPECT_THROW(static_cast<void>(outputs.take("more", 0)), EnvironmentError);
    EXPECT_EQ(layout.resident_bytes(), layout.input_bytes() + layout.output_bytes());
  }
}

TEST(DecodeLayout, RefusesAPoolWithoutRoomForPageZero) {
  EXPECT_THROW(DecodeLayout(DecodeProblem(Fields{.kv_lens = {640}, .pool_pages = 10}), DataType::e4m3fn), UsageError);
  EXPECT_NO_THROW(DecodeLayout(DecodeProblem(Fields{.kv_lens = {640}, .pool_pages = 11}), DataType::e4m3fn));
}

TEST(DecodeInputs, BatchWithoutAnyTokenIsLegal) {
  const MadeInputs made(Fields{.q_lens = {0}, .kv_lens = {0}, .batch = 3});
  EXPECT_EQ(made.views().batch.qo_indptr[3], 0);
  EXPECT_EQ(made.views().batch.kv_indptr[3], 0);
}

// A kernel that masks a tail by multiplying with zero, or drops NaN in a maximum, shows with other values there.
TEST(FillInputs, TailsCanHoldLargeAndTinyValues) {
  for (const auto& [type, large, tiny] :
       {std::tuple(ElementType::bf16, 1e30, 0x1p-133), std::tuple(ElementType::e4m3fn, 448.0, 0x1p-9),
        std::tuple(ElementType::e4m3fnuz, 240.0, 0x1p-10)}) {
    const MadeInputs made(with_types({.kv_lens = {65}, .page_size = 64}, ElementType::bf16, type));
    const DecodeInputs in = made.views();
    const std::int64_t tail = in.batch.kv_indices[1] * in.kv.page_stride + in.kv.token_stride;
    const auto value = [&] {
      const auto* const data = static_cast<const std::byte*>(in.kv.data) + tail * size_in_bytes(in.kv.dtype);
      return static_cast<double>(to_float(data, in.kv.dtype));
    };
    EXPECT_TRUE(std::isnan(value()));
    fill_inputs(made.problem, made.layout, made.buffers, harness::Unreadable::large);
    EXPECT_NEAR(value() / large, 1, 0x1p-8);
    fill_inputs(made.problem, made.layout, made.buffers, harness::Unreadable::tiny);
    EXPECT_EQ(value(), tiny);
  }
}

TEST(PoisonOutputs, FillsEverythingWithSignallingNan) {
  Fields fields = ragged();
  fields.layout = Layout::padded;
  const DecodeProblem problem(fields);
  const DecodeLayout layout(problem, DataType::e4m3fn);
  Arena arena = Arena::create(layout.output_bytes());
  const DecodeOutputBuffers outputs = layout.take_outputs(arena);
  poison_outputs(outputs);
  for (std::size_t i = 0; i < outputs.out.data().size() / 2; ++i) {
    ASSERT_EQ(outputs.out.as<std::uint16_t>()[i], kPoisonBfloat16);
  }
  for (std::size_t i = 0; i < outputs.lse.data().size() / 4; ++i) {
    ASSERT_EQ(outputs.lse.as<std::uint32_t>()[i], kPoisonFloat32);
  }
  EXPECT_FALSE(check_canary(outputs.out).damaged);
  EXPECT_FALSE(check_canary(outputs.lse).damaged);
  EXPECT_TRUE(std::isnan(Bfloat16{kPoisonBfloat16}.to_float()));
  EXPECT_EQ(kPoisonBfloat16 & 0x0040, 0) << "quiet: arithmetic could produce it";
  EXPECT_EQ(kPoisonFloat32 & 0x00400000U, 0U) << "quiet: arithmetic could produce it";
}

}  // namespace
}  // namespace mla::harness
