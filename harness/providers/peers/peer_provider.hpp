// What the providers of other projects' kernels have in common.
#pragma once

#include <memory>
#include <string>
#include <utility>

#include "harness/providers/hip/device_execution.hpp"
#include "harness/providers/provider.hpp"

namespace mla::harness::peers {

/// A provider on the GPU whose `Execution` is constructed from (DecodeCase, Planning), and whose `supports` of a
/// problem is asked of `Execution` too.
template <class Execution>
class PeerProvider final : public Provider {
 public:
  PeerProvider(std::string name, std::string description, hip::Planning planning)
      : name_(std::move(name)), description_(std::move(description)), planning_(planning) {}

  [[nodiscard]] std::string_view name() const override { return name_; }
  [[nodiscard]] std::string_view description() const override { return description_; }
  [[nodiscard]] std::string_view device() const override { return "gpu"; }
  // Not what this project is about: run where it is named.
  [[nodiscard]] bool runs_by_default() const override { return false; }

  [[nodiscard]] Support supports(const DecodeProblem& problem) const override {
    if (!hip::device_file_exists()) return {SkipReason::no_device, "no GPU device file on this machine"};
    return Execution::supports(problem);
  }

  [[nodiscard]] std::unique_ptr<DecodeExecution> prepare(const DecodeCase& problem_case) const override {
    return std::make_unique<Execution>(problem_case, planning_);
  }

 private:
  std::string name_;
  std::string description_;
  hip::Planning planning_;
};

/// Adds `name`, timed without planning, and `name`-plan, timed with it.
template <class Execution>
void add_peer(ProviderList& providers, const std::string& name, const std::string& description) {
  using Peer = PeerProvider<Execution>;
  providers.push_back(
      std::make_unique<Peer>(name, description + "; planning is not in the time", hip::Planning::outside));
  providers.push_back(
      std::make_unique<Peer>(name + "-plan", "as " + name + ", with planning in the time", hip::Planning::inside));
}

}  // namespace mla::harness::peers
