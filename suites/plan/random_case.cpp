#include "suites/plan/random_case.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <random>

namespace mla::test {
namespace {

constexpr std::int32_t kLongest = 131072;

class Generator {
 public:
  explicit Generator(std::uint64_t seed) : engine_(seed) {}

  std::int32_t between(std::int32_t low, std::int32_t high) {
    return std::uniform_int_distribution<std::int32_t>(low, high)(engine_);
  }
  std::int32_t one_of(std::initializer_list<std::int32_t> values) {
    return values.begin()[between(0, static_cast<std::int32_t>(values.size()) - 1)];
  }
  bool chance(int percent) { return between(1, 100) <= percent; }
  std::int32_t log_uniform(std::int32_t low, std::int32_t high) {
    const double u = std::uniform_real_distribution<double>(0, 1)(engine_);
    const double span = std::log(high + 1.0) - std::log(low + 1.0);
    return std::clamp(static_cast<std::int32_t>(std::exp(std::log(low + 1.0) + u * span)) - 1, low, high);
  }

 private:
  std::mt19937_64 engine_;
};

std::int32_t random_batch(Generator& random) {
  const std::int32_t kind = random.between(1, 1000);
  if (kind <= 750) return random.between(1, 16);
  if (kind <= 960) return random.log_uniform(17, 200);
  if (kind <= 985) return random.one_of({255, 256, 257, 511, 512, 513});
  if (kind <= 998) return random.between(201, 1024);
  return random.one_of({2048, 4095, 4096});
}

PlanLimits random_limits(Generator& random) {
  PlanLimits limits;
  const std::int32_t types = random.between(0, 4);
  limits.q_dtype = types == 3 ? DataType::e4m3fn : (types == 4 ? DataType::e4m3fnuz : DataType::bf16);
  limits.kv_dtype = types == 1 || types == 3 ? DataType::e4m3fn : (types == 0 ? DataType::bf16 : DataType::e4m3fnuz);
  limits.heads =
      random.chance(70) ? random.one_of({1, 4, 8, 12, 16, 24, 32, 48, 64, 96, 112, 128}) : random.between(1, 128);
  limits.max_q_len = random.chance(50) ? 1 : random.between(1, 8);
  limits.num_workers = random.chance(50) ? random.one_of({1, 2, 80, 108, 132, 256, 304}) : random.between(1, 304);
  limits.split_limit = random.chance(75) ? 0 : random.one_of({1, 2, 3, 4, 16, 64});
  limits.causal = random.chance(75);
  limits.tile.min_rows = random.one_of({16, 16, 16, 32});
  limits.tile.max_rows = random.one_of({32, 64, 128});
  limits.tile.max_rows_fp8 = random.one_of({32, 64, 128});
  limits.tile.tokens = random.one_of({16, 32, 64, 64, 128});
  if (random.chance(30)) {
    limits.cost = {random.one_of({0, 1, 17, 80, 300}), random.one_of({0, 24, 200}), random.one_of({0, 64, 1000}),
                   random.one_of({0, 1, 4, 50})};
  }
  return limits;
}

// A length around a multiple of what the planner counts in.
std::int32_t edge_length(Generator& random, const PlanCase& problem) {
  const std::int32_t unit = random.chance(50) ? problem.limits.tile.tokens : problem.page_size;
  const std::int32_t multiple = random.log_uniform(0, 64) * unit;
  return std::clamp(multiple + random.between(-problem.limits.max_q_len, problem.limits.max_q_len), 0, kLongest);
}

void draw_kv_lengths(Generator& random, PlanCase& problem, std::int32_t batch) {
  const std::int32_t kind = random.between(0, 7);
  const std::int32_t common = random.log_uniform(0, kLongest);
  const std::int32_t longest = random.between(0, batch - 1);
  for (std::int32_t b = 0; b < batch; ++b) {
    std::int32_t length = 0;
    switch (kind) {
      case 0: length = common; break;
      case 1: length = b == longest ? kLongest - random.between(0, 100) : random.between(0, 64); break;
      case 2: length = random.between(0, problem.limits.max_q_len); break;
      case 3: length = edge_length(random, problem); break;
      case 4: length = std::clamp(common + random.between(-3, 3), 0, kLongest); break;
      case 5: length = random.chance(30) ? 0 : random.between(0, kLongest); break;
      default: length = random.log_uniform(0, kLongest);
    }
    problem.kv_len.push_back(length);
  }
}

}  // namespace

PlanCase random_case(std::uint64_t seed) {
  Generator random(seed);
  PlanCase problem;
  const std::int32_t batch = random_batch(random);
  problem.limits = random_limits(random);
  problem.page_size = 1 << random.between(0, 8);
  draw_kv_lengths(random, problem, batch);
  const bool mixed = random.chance(50);
  std::int32_t total = 0;
  for (std::int32_t b = 0; b < batch; ++b) {
    problem.q_len.push_back(mixed ? random.between(0, problem.limits.max_q_len) : problem.limits.max_q_len);
    total += problem.q_len.back();
  }
  // The tightest limits, so that an array that is one element short shows in its guard.
  problem.limits.max_batch = batch;
  problem.limits.max_total_q = random.chance(50) ? total : 0;
  return problem;
}

}  // namespace mla::test
