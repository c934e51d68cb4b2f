#include <algorithm>
#include <set>
#include <utility>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "suites/inputs/made_inputs.hpp"

namespace mla::harness {
namespace {

using ::testing::MatchesRegex;

Fields ragged() {
  return {.heads = 2, .q_lens = {1, 3}, .kv_lens = {130, 65}, .batch = 2, .distribution = Distribution::needle};
}

std::string digest_of(const MadeInputs& made) {
  return digest(made.problem, made.layout, made.buffers);
}

class Digest : public ::testing::Test {
 protected:
  // Whether the digest notices that one byte changes.
  bool notices(std::byte& byte) const {
    byte ^= std::byte{1};
    const bool changed = digest_of(made_) != base_;
    byte ^= std::byte{1};
    return changed;
  }
  MadeInputs made_{ragged()};
  std::string base_ = digest_of(made_);
};

TEST_F(Digest, Is16HexDigitsAndReproducible) {
  EXPECT_THAT(base_, MatchesRegex("[0-9a-f]{16}"));
  EXPECT_EQ(digest_of(MadeInputs(ragged())), base_);
}

TEST_F(Digest, NoticesBytesAllOverARow) {
  for (const auto row : {made_.q_row(2, 1), made_.kv_row(1, 64)}) {
    // Both ends and, in steps that meet every byte of a word, what lies between.
    for (std::size_t i = 0; i < row.size(); i += 7) ASSERT_TRUE(notices(row[i])) << i;
    ASSERT_TRUE(notices(row.back()));
  }
}

TEST_F(Digest, NoticesEveryRow) {
  for (std::int64_t row = 0; row < 4; ++row) {
    for (const int head : {0, 1}) ASSERT_TRUE(notices(made_.q_row(row, head)[5]));
  }
  for (int request = 0; request < 2; ++request) {
    for (std::int64_t position = 0; position < made_.problem.kv_len(request); ++position) {
      ASSERT_TRUE(notices(made_.kv_row(request, position).back()));
    }
  }
}

// Whatever a stray write leaves there: the digest must differ, and must not follow it out of memory.
TEST_F(Digest, NoticesTheBatchDescription) {
  for (const Buffer* buffer : {&made_.buffers.qo_indptr, &made_.buffers.kv_indptr, &made_.buffers.kv_last_page_len}) {
    for (std::byte& byte : buffer->data()) ASSERT_TRUE(notices(byte)) << buffer->name;
  }
  for (std::int64_t i = 0; i < made_.problem.total_pages(); ++i) {
    std::int32_t& index = made_.buffers.kv_indices.as<std::int32_t>()[i];
    for (const std::int32_t other : {-1, 0, 1'000'000'000}) {
      const std::int32_t before = std::exchange(index, other);
      ASSERT_NE(digest_of(made_), base_) << i;
      index = before;
    }
  }
}

TEST_F(Digest, NoticesSwappedRows) {
  const auto a = made_.kv_row(0, 10);
  const auto b = made_.kv_row(0, 11);
  std::swap_ranges(a.begin(), a.end(), b.begin());
  EXPECT_NE(digest_of(made_), base_);
}

// What a run measures depends on where the pages lie, so a permutation of pages is another input.
TEST_F(Digest, NoticesAPagePermutation) {
  const auto first = made_.kv_row(0, 0);
  const auto second = made_.kv_row(0, 64);
  const std::size_t page_bytes = 64 * kHeadDim * 2;
  std::swap_ranges(first.data(), first.data() + page_bytes, second.data());
  auto* const indices = made_.buffers.kv_indices.as<std::int32_t>();
  std::swap(indices[0], indices[1]);
  EXPECT_NE(digest_of(made_), base_);
}

TEST_F(Digest, IgnoresWhatNoKernelMayRead) {
  auto* const kv = made_.buffers.kv.data().data();
  EXPECT_FALSE(notices(kv[100])) << "page 0";
  EXPECT_FALSE(notices(*(made_.kv_row(0, 129).data() + made_.kv_row(0, 129).size()))) << "tail of the last page";
  EXPECT_FALSE(notices(made_.buffers.kv_indices.data().back())) << "spare index";
}

TEST_F(Digest, IgnoresThePaddingOfALayout) {
  Fields fields = ragged();
  fields.layout = Layout::padded;
  EXPECT_EQ(digest_of(MadeInputs(fields)), base_);
}

TEST_F(Digest, DiffersBetweenProblems) {
  const auto with = [](auto change) {
    Fields fields = ragged();
    change(fields);
    return digest_of(MadeInputs(fields));
  };
  const std::set<std::string> digests = {
      base_,
      with([](Fields& f) { f.seed = 1; }),
      with([](Fields& f) { f.causal = false; }),
      with([](Fields& f) { f.sm_scale = 0.1; }),
      with([](Fields& f) { f.page_size = 32; }),
      with([](Fields& f) { f.heads = 3; }),
      with([](Fields& f) { f.distribution = Distribution::randn; }),
      with([](Fields& f) { f.kv_type = ElementType::e4m3fn; }),
      with([](Fields& f) { f.kv_type = ElementType::e4m3fnuz; }),
  };
  EXPECT_EQ(digests.size(), 9U);
}

}  // namespace
}  // namespace mla::harness
