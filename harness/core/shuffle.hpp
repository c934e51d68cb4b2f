// A random order that is the same with every standard library.
#pragma once

#include <cstddef>
#include <random>
#include <utility>
#include <vector>

namespace mla::harness {

/// Fisher-Yates on the engine's own bits: std::shuffle and the standard distributions differ between libraries. The
/// remainder's bias is below 2^-32 for any list that fits in memory.
template <class Value>
void shuffle(std::vector<Value>& values, std::mt19937_64& random) {
  for (std::size_t i = values.size(); i > 1; --i) std::swap(values[i - 1], values[random() % i]);
}

}  // namespace mla::harness
