// The emulated instructions against the lane layouts of AMD's matrix instruction calculator (gfx942) and the closed
// formulas of the CDNA4 layouts (gfx950), and the rules that the emulated workgroup keeps.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <cstring>
#include <vector>

#include "kernels/arch/host/cdna.hpp"
#include "kernels/runtime/host.hpp"

namespace mla {
namespace {

using host::ExecutionError;
using host::LaunchOptions;

// A kernel of one wave (or more) whose lanes run `body`.
template <class Body, int kLanes = 64>
struct Kernel {
  using Arguments = Body;
  static constexpr int kThreads = kLanes;
  static constexpr int kSharedBytes = 4096;
  static void run(const Body& body) { body(); }
};

template <int kLanes = 64, class Body>
void launch(const Body& body, const LaunchOptions& options = {}) {
  host::launch<Kernel<Body, kLanes>>(1, body, options);
}

std::uint32_t bf16(float value) {
  return Bfloat16::from_float(value).bits;
}

// Rows of the calculator's register tables: A[i][k] lies in lane 16 * (k / per_lane) + i as element k % per_lane,
// B[k][j] likewise, D[i][j] in lane 16 * (i / 4) + j as register i % 4.
struct Place {
  int lane;
  int element;
};
constexpr Place place_of_operand(int line, int k, int per_lane) {
  return {16 * (k / per_lane) + line, k % per_lane};
}
constexpr Place place_of_result(int i, int j) {
  return {16 * (i / 4) + j, i % 4};
}

// Unit matrices: A has a one at (i, k), B one at (k, j), so that D has one at (i, j) alone.
template <int kPerLane, class Multiply>
void check_layout(const Multiply& multiply, int i, int k, int j) {
  std::array<std::array<float, 4>, 64> d{};
  launch([&] {
    const int lane = cdna::lane();
    std::uint32_t a[kPerLane / 2] = {};
    std::uint32_t b[kPerLane / 2] = {};
    const Place left = place_of_operand(i, k, kPerLane);
    const Place right = place_of_operand(j, k, kPerLane);
    if (lane == left.lane) a[left.element / 2] = bf16(1) << (left.element % 2 * 16);
    if (lane == right.lane) b[right.element / 2] = bf16(1) << (right.element % 2 * 16);
    float own[4] = {};
    multiply(own, a, b);
    for (int v = 0; v < 4; ++v) d[static_cast<std::size_t>(lane)][static_cast<std::size_t>(v)] = own[v];
  });
  for (int row = 0; row < 16; ++row) {
    for (int column = 0; column < 16; ++column) {
      const Place at = place_of_result(row, column);
      ASSERT_EQ(d[static_cast<std::size_t>(at.lane)][static_cast<std::size_t>(at.element)],
                row == i && column == j ? 1.0F : 0.0F)
          << "A(" << i << "," << k << ") B(" << k << "," << j << ") D(" << row << "," << column << ")";
    }
  }
}

TEST(MatrixInstruction, Bf16Depth32HasEightConsecutiveKALane) {
  const auto multiply = [](float(&d)[4], const std::uint32_t(&a)[4], const std::uint32_t(&b)[4]) {
    cdna::mfma_16x16x32_bf16(d, a, b);
  };
  for (int n = 0; n < 32; ++n) check_layout<8>(multiply, n * 7 % 16, n, n * 5 % 16);
}

TEST(MatrixInstruction, Bf16Depth16HasFourConsecutiveKALane) {
  const auto multiply = [](float(&d)[4], const std::uint32_t(&a)[2], const std::uint32_t(&b)[2]) {
    cdna::mfma_16x16x16_bf16(d, a, b);
  };
  for (int n = 0; n < 16; ++n) check_layout<4>(multiply, n * 7 % 16, n, n * 5 % 16);
}

TEST(TransposedRead, GivesALaneOneDimOfFourTokens) {
  // Documented: halfword n of lane l is halfword l & 3 of what lane (l & ~15 | l >> 2 & 3) + 4 n reads.
  std::array<std::array<std::uint16_t, 4>, 64> got{};
  launch([&] {
    auto* memory = reinterpret_cast<std::uint16_t*>(cdna::shared_memory());
    const int lane = cdna::lane();
    for (int e = 0; e < 4; ++e) memory[lane * 4 + e] = static_cast<std::uint16_t>(lane * 4 + e);
    std::uint32_t r[2];
    cdna::barrier();
    cdna::read_transposed_16(r, reinterpret_cast<const std::byte*>(memory + lane * 4));
    std::memcpy(got[static_cast<std::size_t>(lane)].data(), r, 8);
  });
  for (int l = 0; l < 64; ++l) {
    for (int n = 0; n < 4; ++n) {
      const int source = ((l & ~15) | (l >> 2 & 3)) + 4 * n;
      EXPECT_EQ(got[static_cast<std::size_t>(l)][static_cast<std::size_t>(n)], source * 4 + (l & 3));
    }
  }
}

TEST(Workgroup, SharedMemoryStartsAsNaN) {
  bool all_nan = true;
  launch([&] {
    float value;
    std::memcpy(&value, cdna::shared_memory() + cdna::lane() * 4, 4);
    all_nan = all_nan && value != value;
  });
  EXPECT_TRUE(all_nan);
}

TEST(Workgroup, ReportsLanesThatWaitForEver) {
  EXPECT_THROW(launch([] {
                 if (cdna::lane() != 5) cdna::shuffle_xor(0, 1);
               }),
               ExecutionError);
}

TEST(Workgroup, ReportsAnAccessOutsideTheBuffers) {
  std::array<int, 4> memory{};
  LaunchOptions options;
  options.memory.add("memory", memory.data(), sizeof memory, host::Memory::Access::read);
  EXPECT_NO_THROW(launch([&] { (void)cdna::load_global(memory.data() + cdna::lane() % 4); }, options));
  EXPECT_THROW(launch([&] { (void)cdna::load_global(memory.data() + 4); }, options), ExecutionError);
  EXPECT_THROW(launch([&] { cdna::store_global(memory.data(), 1); }, options), ExecutionError);
}

// Whether 30 orders of the lanes all let lane 0 of the second wave see what the first wave wrote, or copied.
template <class Body>
int times_seen(const Body& body) {
  int seen = 0;
  for (std::uint64_t seed = 0; seed < 30; ++seed) {
    LaunchOptions options;
    options.seed = seed;
    bool right = false;
    launch<128>([&] { body(right); }, options);
    seen += right ? 1 : 0;
  }
  return seen;
}

TEST(Workgroup, AMissingBarrierShows) {
  const auto body = [](bool with_barrier, bool& right) {
    auto* word = reinterpret_cast<int*>(cdna::shared_memory());
    if (cdna::thread() == 0) *word = 7;
    if (with_barrier) cdna::barrier();
    if (cdna::thread() == 64) right = *word == 7;
  };
  EXPECT_EQ(times_seen([&](bool& right) { body(true, right); }), 30);
  EXPECT_THAT(times_seen([&](bool& right) { body(false, right); }), testing::AllOf(testing::Gt(0), testing::Lt(30)));
}

TEST(Workgroup, AMissingWaitForACopyShows) {
  const std::array<int, 64> source = [] {
    std::array<int, 64> values{};
    values.fill(7);
    return values;
  }();
  const auto body = [&](bool with_wait, bool& right) {
    if (cdna::wave() == 0) {
      cdna::copy_to_shared<4>(cdna::shared_memory(), reinterpret_cast<const std::byte*>(&source[0] + cdna::lane()));
      if (with_wait) cdna::wait_copies<0>();
    }
    cdna::barrier();
    if (cdna::thread() == 64) right = *reinterpret_cast<const int*>(cdna::shared_memory()) == 7;
  };
  EXPECT_EQ(times_seen([&](bool& right) { body(true, right); }), 30);
  EXPECT_LT(times_seen([&](bool& right) { body(false, right); }), 30);
}

}  // namespace
}  // namespace mla
