#include "suites/mutation/clean_runs.hpp"

#include <cstddef>
#include <vector>

#include <fmt/format.h>

namespace mla::mutation {

std::string clean_word(int run) {
  static const std::vector<std::string> shapes = {
      "h=3,kv=200",       "h=32,kv=150",          "h=2,b=2,q=2+1,kv=90+5,page=16", "h=16,b=2,q=1+2,kv=5+300,page=16",
      "h=5,kv=64,page=1", "h=128,kv=33,page=256", "h=1,q=4,kv=400,page=32"};
  static const std::vector<std::string> types = {"bf16", "bf16.fp8", "fp8"};
  static const std::vector<std::string> contents = {"randn", "sharp",   "needle", "uniform",   "ramp",
                                                    "heavy", "outlier", "sink",   "saturating"};
  auto rest = static_cast<std::size_t>(run);
  const auto next = [&rest](const std::vector<std::string>& list) {
    const std::string& chosen = list[rest % list.size()];
    rest /= list.size();
    return chosen;
  };
  const std::string& shape = next(shapes);
  const std::string& type = next(types);
  return fmt::format("decode:{},dtype={},dist={},seed={}", shape, type, next(contents), run + 1);
}

}  // namespace mla::mutation
