// The models whose attention is under test: what fixes the shape and the softmax scale of their MLA layers.
#pragma once

#include <span>
#include <string_view>

namespace mla::harness {

/// One model's MLA constants, from its published configuration (config.json of the Hugging Face repository).
struct Model {
  std::string_view name;   // as suites write it
  std::string_view title;  // as people write it
  int heads;               // query heads of the whole model
  int qk_nope_dim;         // a head, before absorption
  int qk_rope_dim;
  int v_dim;
  int kv_lora_rank;    // latent width; 512 + 64 rope = the 576 of a cache row
  double yarn_factor;  // 1: plain RoPE

  /// Softmax scale (qk_nope + qk_rope)^-0.5 * m^2 with YaRN's m = 0.1 ln(factor) + 1 (DeepSeek-V3 model.py,
  /// mscale = mscale_all_dim = 1). The absorbed kernel takes the same scalar, not 576^-0.5.
  [[nodiscard]] double sm_scale() const;

  /// Query heads on one rank of a tensor-parallel group. Throws UsageError unless tp divides the heads.
  [[nodiscard]] int heads_per_rank(int tp) const;
};

[[nodiscard]] std::span<const Model> models();

/// Throws UsageError naming the known models.
[[nodiscard]] const Model& find_model(std::string_view name);

}  // namespace mla::harness
