// A machine as benchmarks know it: launches that differ, drift, outliers, a clock that stands elsewhere the next day.
#pragma once

#include <cstddef>
#include <cstdint>
#include <random>
#include <utility>
#include <vector>

namespace mla::suites {

/// Standard deviations are of logarithms of times. The values are those at which public tools were seen to fail.
struct Noise {
  double launch = 0.008;        // from launch to launch of a case
  double drift = 0.006;         // slow, of the whole machine: autoregressive ...
  double drift_rounds = 4;      // ... and forgotten after so many launches of every case
  double sample = 0.004;        // within a launch
  double outlier_share = 0.02;  // of samples
  double outlier_least = 0.10;  // an outlier takes longer by this share ...
  double outlier_most = 0.50;   // ... to this
  double hiccup_share = 0;      // of launches, whose samples all take ...
  double hiccup = 0.10;         // ... this much longer
  double clock_step = 0;        // of the whole second session
};

/// Times of one case in one session: [launch][sample], ns.
using Launches = std::vector<std::vector<double>>;

/// Two builds that were measured on the machine.
struct Sessions {
  std::vector<Launches> base;  // by case
  std::vector<Launches> next;
};

class Machine {
 public:
  Machine(const Noise& noise, std::uint64_t seed) : noise_(noise), random_(seed) {}

  /// One session after the other, each in rounds of one launch a case. `changes`: logarithm of NEW over BASE, by case.
  [[nodiscard]] Sessions apart(const std::vector<double>& changes, int launches, int samples);

  /// One session: the launches of a pair follow each other, in either order.
  [[nodiscard]] Sessions interleaved(const std::vector<double>& changes, int pairs, int samples);

 private:
  [[nodiscard]] double normal(double sd) { return std::normal_distribution<>(0, sd)(random_); }
  [[nodiscard]] bool happens(double share) { return std::bernoulli_distribution(share)(random_); }
  void step_drift(std::size_t cases);
  [[nodiscard]] std::vector<double> launch(double change, int samples);

  Noise noise_;
  std::mt19937_64 random_;
  double drift_ = 0;
};

}  // namespace mla::suites
