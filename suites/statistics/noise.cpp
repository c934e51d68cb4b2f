#include "suites/statistics/noise.hpp"

#include <cmath>

namespace mla::suites {

void Machine::step_drift(std::size_t cases) {
  const double kept = std::exp(-1.0 / (noise_.drift_rounds * static_cast<double>(cases)));
  drift_ = kept * drift_ + normal(noise_.drift * std::sqrt(1 - kept * kept));
}

std::vector<double> Machine::launch(double change, int samples) {
  double level = std::log(1e6) + change + drift_ + normal(noise_.launch);
  if (happens(noise_.hiccup_share)) level += std::log1p(noise_.hiccup);
  std::vector<double> times;
  times.reserve(static_cast<std::size_t>(samples));
  for (int i = 0; i < samples; ++i) {
    double sample = level + normal(noise_.sample);
    if (happens(noise_.outlier_share)) {
      sample += std::log1p(std::uniform_real_distribution<>(noise_.outlier_least, noise_.outlier_most)(random_));
    }
    times.push_back(std::exp(sample));
  }
  return times;
}

Sessions Machine::apart(const std::vector<double>& changes, int launches, int samples) {
  Sessions sessions;
  for (const bool next : {false, true}) {
    std::vector<Launches>& session = next ? sessions.next : sessions.base;
    session.resize(changes.size());
    drift_ = normal(noise_.drift);
    for (int round = 0; round < launches; ++round) {
      for (std::size_t i = 0; i < changes.size(); ++i) {
        step_drift(changes.size());
        session[i].push_back(launch(next ? changes[i] + std::log1p(noise_.clock_step) : 0, samples));
      }
    }
  }
  return sessions;
}

Sessions Machine::interleaved(const std::vector<double>& changes, int pairs, int samples) {
  Sessions sessions{std::vector<Launches>(changes.size()), std::vector<Launches>(changes.size())};
  drift_ = normal(noise_.drift);
  for (int round = 0; round < pairs; ++round) {
    for (std::size_t i = 0; i < changes.size(); ++i) {
      for (const bool next : {round % 2 == 1, round % 2 == 0}) {
        step_drift(changes.size());
        (next ? sessions.next : sessions.base)[i].push_back(launch(next ? changes[i] : 0, samples));
      }
    }
  }
  return sessions;
}

}  // namespace mla::suites
