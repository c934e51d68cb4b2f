#include "harness/timing/ceilings.hpp"

#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <limits>
#include <string>

#include <fmt/format.h>
#include <Eigen/Core>

#include "harness/providers/worker_pool.hpp"
#include "harness/timing/last_level_cache.hpp"

namespace mla::harness {

namespace {

using Clock = std::chrono::steady_clock;
using Packet = Eigen::internal::packet_traits<float>::type;
constexpr int kLanes = Eigen::internal::packet_traits<float>::size;

int thread_count(const CeilingConfig& config) {
  return config.threads > 0 ? config.threads : available_cores();
}

// Nanoseconds of the quickest of the passes that fit into `seconds`: a ceiling is what nothing disturbed.
double best_pass_ns(WorkerPool& pool, double seconds, const std::function<void(int)>& pass) {
  double best = std::numeric_limits<double>::infinity();
  const auto end = Clock::now() + std::chrono::duration<double>(seconds);
  do {
    const auto begin = Clock::now();
    pool.run(pass);
    best = std::min(best, std::chrono::duration<double, std::nano>(Clock::now() - begin).count());
  } while (Clock::now() < end);
  return best;
}

std::int64_t physical_memory_bytes() {
  return std::int64_t{sysconf(_SC_PHYS_PAGES)} * sysconf(_SC_PAGESIZE);
}

std::int64_t read_buffer_bytes() {
  constexpr std::int64_t kLeast = std::int64_t{256} << 20;
  return std::min(std::max(kLeast, 4 * last_level_cache_bytes()), physical_memory_bytes() / 4);
}

// Adds up whole words: integer sums may be reordered, so the compiler makes wide independent loads of this loop.
std::uint64_t read_all(const std::vector<std::uint64_t>& words) {
  std::uint64_t sum = 0;
  for (const std::uint64_t word : words) sum += word;
  return sum;
}

// Ten independent chains hide the latency of the multiply-add on every current core.
float fma_chains(int steps) {
  constexpr int kChains = 10;
  const Packet factor = Eigen::internal::pset1<Packet>(0.999F);
  const Packet term = Eigen::internal::pset1<Packet>(0.001F);
  Packet chains[kChains];
  for (int c = 0; c < kChains; ++c) chains[c] = Eigen::internal::pset1<Packet>(static_cast<float>(c));
  for (int step = 0; step < steps; ++step) {
#pragma GCC unroll 10
    for (int c = 0; c < kChains; ++c) chains[c] = Eigen::internal::pmadd(chains[c], factor, term);
  }
  float sum = 0;
  for (const Packet& chain : chains) sum += Eigen::internal::predux(chain);
  return sum;
}

}  // namespace

Ceiling memory_read_ceiling(const CeilingConfig& config) {
  WorkerPool pool(thread_count(config));
  const auto workers = static_cast<std::size_t>(pool.size());
  const std::size_t words = static_cast<std::size_t>(read_buffer_bytes()) / sizeof(std::uint64_t) / workers;
  std::vector<std::vector<std::uint64_t>> parts(workers);
  pool.run([&](int worker) { parts[static_cast<std::size_t>(worker)].assign(words, 1); });

  std::atomic<std::uint64_t> sink = 0;  // keeps the reads from being optimised away
  const double ns = best_pass_ns(pool, config.seconds,
                                 [&](int worker) { sink += read_all(parts[static_cast<std::size_t>(worker)]); });
  const auto bytes = static_cast<double>(words * workers * sizeof(std::uint64_t));
  return {"memory_read", "cpu", bytes / ns, "GB/s",
          fmt::format("{:.0f} MiB on {} cores, best pass", bytes / (1 << 20), workers)};
}

Ceiling f32_fma_ceiling(const CeilingConfig& config) {
  constexpr int kSteps = 100'000;
  WorkerPool pool(thread_count(config));
  std::atomic<float> sink = 0;
  const double ns = best_pass_ns(pool, config.seconds, [&](int) { sink = fma_chains(kSteps); });
  const double flops = 2.0 * 10 * kLanes * kSteps * pool.size();
  return {"fma_f32", "cpu", flops / ns, "GFLOP/s", fmt::format("{} lanes on {} cores, best pass", kLanes, pool.size())};
}

Ceiling f32_matmul_ceiling(const CeilingConfig& config) {
  constexpr int n = 768;
  // Each core multiplies matrices of its own: one product shared by all would measure Eigen's threading as well, and
  // make this process one that has used OpenMP (see WorkerPool).
  struct Operands {
    Eigen::MatrixXf a = Eigen::MatrixXf::Constant(n, n, 0.5F);
    Eigen::MatrixXf b = Eigen::MatrixXf::Constant(n, n, 0.25F);
    Eigen::MatrixXf c = Eigen::MatrixXf::Zero(n, n);
  };
  WorkerPool pool(thread_count(config));
  std::vector<Operands> operands(static_cast<std::size_t>(pool.size()));
  const double ns = best_pass_ns(pool, config.seconds, [&](int worker) {
    Operands& mine = operands[static_cast<std::size_t>(worker)];
    mine.c.noalias() = mine.a * mine.b;
  });
  const double flops = 2.0 * n * n * n * pool.size();
  return {"matmul_f32", "cpu", flops / ns, "GFLOP/s",
          fmt::format("Eigen, {0} x {0} x {0} on each of {1} cores, best pass", n, pool.size())};
}

Ceiling bf16_matmul_ceiling(const CeilingConfig& config, double least_plausible) {
  Ceiling ceiling{"matmul_bf16", config.bf16_device, std::nullopt, "GFLOP/s", ""};
  const double rate = config.bf16_matmul ? config.bf16_matmul(config.seconds) : 0;
  if (!(rate > 0)) {
    ceiling.note = "nothing in this build multiplies bf16 matrices (libtorch is absent)";
  } else if (rate < least_plausible) {
    ceiling.note =
        fmt::format("libtorch reached {:.3g} GFLOP/s only: it has no fast bf16 product for this processor", rate);
  } else {
    ceiling.value = rate;
    ceiling.note = "libtorch, best product";
  }
  return ceiling;
}

Ceiling launch_pool_floor(const CeilingConfig& config) {
  WorkerPool pool(thread_count(config));
  // Thousands fit into a tenth of the time that a rate needs.
  const double ns = best_pass_ns(pool, config.seconds / 10, [](int) {});
  return {"launch_pool", "cpu", ns, "ns", fmt::format("an empty task for {} cores, quickest", pool.size())};
}

std::vector<Ceiling> measure_ceilings(const CeilingConfig& config) {
  std::vector<Ceiling> ceilings = {memory_read_ceiling(config), f32_fma_ceiling(config), f32_matmul_ceiling(config)};
  const double f32_rate = *ceilings.back().value;
  ceilings.push_back(bf16_matmul_ceiling(config, config.bf16_device == "cpu" ? f32_rate / 4 : 0));
  ceilings.push_back(launch_pool_floor(config));
  return ceilings;
}

}  // namespace mla::harness
