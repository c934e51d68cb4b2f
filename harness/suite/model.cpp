#include "harness/suite/model.hpp"

#include <array>
#include <cmath>
#include <string>

#include "harness/core/error.hpp"
#include "harness/problem/decode_problem.hpp"

namespace mla::harness {

namespace {

constexpr std::array<Model, 5> kModels = {{
    {"deepseek-v3", "DeepSeek-V3", 128, 128, 64, 128, 512, 40},
    {"deepseek-r1", "DeepSeek-R1", 128, 128, 64, 128, 512, 40},
    {"kimi-k2", "Kimi-K2", 64, 128, 64, 128, 512, 32},
    {"kimi-k2-thinking", "Kimi-K2-Thinking", 64, 128, 64, 128, 512, 64},
    {"glm-5", "GLM-5", 64, 192, 64, 256, 512, 1},
}};

}  // namespace

double Model::sm_scale() const {
  const double mscale = 0.1 * std::log(yarn_factor) + 1.0;
  const double scale = mscale * mscale / std::sqrt(static_cast<double>(qk_nope_dim + qk_rope_dim));
  // A logarithm may differ in its last bit between C libraries; the default of a problem word must not.
  if (std::abs(scale / kDeepSeekSmScale - 1) < 1e-14) return kDeepSeekSmScale;
  return scale;
}

int Model::heads_per_rank(int tp) const {
  if (tp < 1 || heads % tp != 0) {
    throw UsageError("tp", std::to_string(tp), fmt::format("a divisor of the {} heads of {} is needed", heads, title));
  }
  return heads / tp;
}

std::span<const Model> models() {
  return kModels;
}

const Model& find_model(std::string_view name) {
  std::string known;
  for (const Model& model : kModels) {
    if (model.name == name) return model;
    known += fmt::format("{}{}", known.empty() ? "" : ", ", model.name);
  }
  throw UsageError("model", name, "one of " + known + " is needed");
}

}  // namespace mla::harness
