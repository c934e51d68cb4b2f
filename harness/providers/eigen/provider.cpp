#include "harness/providers/eigen/provider.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "harness/providers/eigen/digest.hpp"
#include "harness/providers/eigen/flash_decode.hpp"
#include "harness/providers/eigen/packet.hpp"

namespace mla::harness {

namespace {

class EigenDecode final : public DecodeExecution {
 public:
  EigenDecode(const DecodeCase& c, int threads)
      : inputs_(c.layout.bind(c.inputs)),
        outputs_(c.layout.bind(c.outputs)),
        kernel_(c.problem.fields().workers, c.problem.fields().split_limit, threads) {}

  void run() override { kernel_.run(inputs_, outputs_); }

  [[nodiscard]] KernelInfo kernel() const override {
    return {"flash_decode", fmt::format("f32.lanes{}.tokens{}", eigen::kLanes, eigen::kTileTokens),
            std::string(eigen::kSourceDigest)};
  }

  /// Probabilities, their sum and partial outputs all stay float32.
  [[nodiscard]] Precision precision() const override {
    return {.probabilities = DataType::f32, .row_sum_of_rounded = false, .partial_output = DataType::f32};
  }

  /// Medians: planning takes microseconds, which one interruption multiplies.
  [[nodiscard]] std::vector<StageTime> stage_times() override {
    std::array<eigen::FlashDecode::Times, kStageLaunches> launches;
    for (auto& times : launches) times = kernel_.run(inputs_, outputs_);
    const auto median = [&launches](double eigen::FlashDecode::Times::*stage) {
      std::ranges::nth_element(launches, launches.begin() + kStageLaunches / 2, {}, stage);
      return launches[kStageLaunches / 2].*stage;
    };
    using Times = eigen::FlashDecode::Times;
    return {
        {"plan", median(&Times::plan_ns)}, {"decode", median(&Times::decode_ns)}, {"merge", median(&Times::merge_ns)}};
  }

 private:
  static constexpr int kStageLaunches = 5;

  DecodeInputs inputs_;
  DecodeOutputs outputs_;
  eigen::FlashDecode kernel_;
};

class EigenProvider final : public Provider {
 public:
  explicit EigenProvider(int threads) : threads_(threads) {}

  [[nodiscard]] std::string_view name() const override { return "eigen"; }
  [[nodiscard]] std::string_view description() const override {
    return "blocked float32 flash-decoding on all cores, one pass over the KV cache";
  }
  [[nodiscard]] Support supports(const DecodeProblem&) const override { return {}; }
  [[nodiscard]] std::unique_ptr<DecodeExecution> prepare(const DecodeCase& c) const override {
    return std::make_unique<EigenDecode>(c, threads_);
  }

 private:
  int threads_;
};

}  // namespace

std::unique_ptr<Provider> make_eigen_provider(int threads) {
  return std::make_unique<EigenProvider>(threads);
}

}  // namespace mla::harness
