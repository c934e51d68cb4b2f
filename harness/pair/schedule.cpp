#include "harness/pair/schedule.hpp"

#include <numeric>
#include <random>

#include "harness/core/shuffle.hpp"

namespace mla::harness {

std::vector<ScheduledPair> schedule(const std::vector<std::string>& keys, reports::PairStage stage, int first,
                                    int pairs, std::uint64_t seed) {
  std::seed_seq streams{seed, seed >> 32, static_cast<std::uint64_t>(stage), static_cast<std::uint64_t>(first)};
  std::mt19937_64 random(streams);
  std::vector<bool> base_first;
  for (std::size_t i = 0; i < keys.size(); ++i) base_first.push_back(random() % 2 == 0);
  std::vector<std::size_t> order(keys.size());
  std::iota(order.begin(), order.end(), 0U);
  std::vector<ScheduledPair> scheduled;
  scheduled.reserve(keys.size() * static_cast<std::size_t>(pairs));
  for (int pair = first; pair < first + pairs; ++pair) {
    shuffle(order, random);
    for (const std::size_t i : order) scheduled.push_back({keys[i], pair, base_first[i] == (pair % 2 == 0)});
  }
  return scheduled;
}

}  // namespace mla::harness
