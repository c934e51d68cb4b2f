// Captured launches on the host.
#pragma once

#include <cstddef>
#include <functional>
#include <utility>
#include <vector>

namespace mla::host {

struct LaunchOptions;

/// Launches in the order in which they were captured. Each keeps its arguments by value, as a device's graph does: what
/// these point to is read at every replay, the arguments themselves never change.
class Graph {
 public:
  using Launch = std::function<void(const LaunchOptions&)>;

  void add(Launch launch) { launches_.push_back(std::move(launch)); }
  [[nodiscard]] std::size_t size() const { return launches_.size(); }
  void replay(const LaunchOptions& options) const {
    for (const Launch& launch : launches_) launch(options);
  }

 private:
  std::vector<Launch> launches_;
};

}  // namespace mla::host
