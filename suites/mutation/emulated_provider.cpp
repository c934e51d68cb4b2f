#include "suites/mutation/emulated_provider.hpp"

#include <algorithm>
#include <cstddef>
#include <vector>

#include "suites/mutation/emulated_kernel.hpp"

namespace mla::mutation {

namespace {

using harness::DecodeCase;

class EmulatedExecution final : public harness::DecodeExecution {
 public:
  EmulatedExecution(const DecodeCase& problem_case, const Fault& fault)
      : case_(problem_case), inputs_(case_.layout.bind(case_.inputs)), fault_(fault) {}

  void run() override {
    if (fault_.mechanism == Mechanism::cached_answer && !cached_.empty()) return give_cached();
    const int splits = case_.problem.fields().split_limit > 0 ? case_.problem.fields().split_limit : kDefaultSplits;
    run_emulated_kernel(inputs_, case_.layout.bind(case_.outputs), splits, fault_);
    spoil_launch();
    ++launches_;
  }

  [[nodiscard]] harness::KernelInfo kernel() const override { return {"emulated", std::string(fault_.name), "0"}; }
  [[nodiscard]] Precision precision() const override { return emulated_precision(inputs_.q.dtype); }

 private:
  // Faults of the launch as a whole.
  void spoil_launch() {
    const harness::Buffer& out = case_.outputs.out;
    if (out.data().empty()) return;
    switch (fault_.mechanism) {
      case Mechanism::write_past_end: out.whole[out.whole.size() - harness::Buffer::kGuardBytes] ^= std::byte{1}; break;
      case Mechanism::race:
        // The lowest bit of one element: within every bound.
        if (launches_ % 8 == 5) out.data()[0] ^= std::byte{1};
        break;
      case Mechanism::cached_answer:
        for (const harness::Buffer* buffer : {&case_.outputs.out, &case_.outputs.lse}) {
          const auto data = buffer->data();
          cached_.emplace_back(data.begin(), data.end());
        }
        break;
      default: break;
    }
  }

  void give_cached() const {
    std::copy(cached_[0].begin(), cached_[0].end(), case_.outputs.out.data().begin());
    std::copy(cached_[1].begin(), cached_[1].end(), case_.outputs.lse.data().begin());
  }

  DecodeCase case_;
  DecodeInputs inputs_;
  const Fault& fault_;
  int launches_ = 0;
  std::vector<std::vector<std::byte>> cached_;
};

class EmulatedProvider final : public harness::Provider {
 public:
  explicit EmulatedProvider(const Fault& fault) : fault_(fault) {}

  [[nodiscard]] std::string_view name() const override { return fault_.name; }
  [[nodiscard]] std::string_view description() const override { return fault_.what; }
  [[nodiscard]] harness::Support supports(const harness::DecodeProblem&) const override { return {}; }
  [[nodiscard]] std::unique_ptr<harness::DecodeExecution> prepare(const DecodeCase& problem_case) const override {
    return std::make_unique<EmulatedExecution>(problem_case, fault_);
  }

 private:
  const Fault& fault_;
};

}  // namespace

const Fault& clean() {
  static const Fault fault{.name = "clean", .what = "no fault"};
  return fault;
}

std::unique_ptr<harness::Provider> emulated_provider(const Fault& fault) {
  return std::make_unique<EmulatedProvider>(fault);
}

harness::ProviderList emulated_providers() {
  harness::ProviderList list;
  list.push_back(emulated_provider(clean()));
  for (const Fault& fault : faults()) list.push_back(emulated_provider(fault));
  return list;
}

}  // namespace mla::mutation
