#include "suites/runner/faulty_providers.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdlib>
#include <functional>
#include <limits>
#include <span>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "reference/decode.hpp"

namespace mla::harness {

namespace {

// The right answer: the oracle's, rounded once.
class Oracle {
 public:
  explicit Oracle(const DecodeCase& problem_case) : case_(problem_case) {}

  void write() const {
    const int heads = case_.problem.fields().heads;
    const std::int64_t tokens = case_.problem.total_q();
    std::vector<std::byte> memory(reference::DecodeOracle::bytes(tokens, heads) + 64);
    const auto aligned = (64 - reinterpret_cast<std::uintptr_t>(memory.data()) % 64) % 64;
    const auto oracle = reference::DecodeOracle::over(std::span(memory).subspan(aligned), tokens, heads);
    reference::decode(case_.layout.bind(case_.inputs), oracle);
    for (std::size_t i = 0; i < oracle.out.size(); ++i) {
      case_.outputs.out.as<std::uint16_t>()[i] = Bfloat16::from_float(static_cast<float>(oracle.out[i])).bits;
    }
    for (std::size_t i = 0; i < oracle.lse.size(); ++i) {
      case_.outputs.lse.as<float>()[i] = static_cast<float>(oracle.lse[i]);
    }
  }

 private:
  DecodeCase case_;
};

using Fault = std::function<void(const DecodeCase&, int launch)>;

class FaultyExecution final : public DecodeExecution {
 public:
  FaultyExecution(const DecodeCase& problem_case, const Fault& fault) : case_(problem_case), fault_(fault) {}
  void run() override {
    Oracle(case_).write();
    fault_(case_, launches_++);
  }
  [[nodiscard]] KernelInfo kernel() const override { return {"oracle_with_fault", "f64", "0"}; }
  [[nodiscard]] Precision precision() const override { return {}; }

 private:
  DecodeCase case_;
  Fault fault_;
  int launches_ = 0;
};

class FaultyProvider final : public Provider {
 public:
  FaultyProvider(std::string name, Fault fault) : name_(std::move(name)), fault_(std::move(fault)) {}
  [[nodiscard]] std::string_view name() const override { return name_; }
  [[nodiscard]] std::string_view description() const override { return "fails on purpose"; }
  [[nodiscard]] Support supports(const DecodeProblem&) const override { return {}; }
  [[nodiscard]] std::unique_ptr<DecodeExecution> prepare(const DecodeCase& problem_case) const override {
    return std::make_unique<FaultyExecution>(problem_case, fault_);
  }

 private:
  std::string name_;
  Fault fault_;
};

void segfault() {
  // An address that is never mapped; a plain null pointer would not compile.
  volatile std::uintptr_t address = 64;
  *reinterpret_cast<volatile int*>(address) = 1;
}

void hang() {
  while (true) std::this_thread::sleep_for(std::chrono::seconds(1));
}

}  // namespace

ProviderList faulty_providers() {
  constexpr std::uint16_t kBf16One = 0x3f80;
  constexpr std::uint16_t kBf16NaN = 0x7fc0;
  ProviderList list;
  const auto add = [&list](const char* name, Fault fault) {
    list.push_back(std::make_unique<FaultyProvider>(name, std::move(fault)));
  };
  add("good", [](const DecodeCase&, int) {});
  add("wrong-value", [](const DecodeCase& c, int) { c.outputs.out.as<std::uint16_t>()[7] = kBf16One; });
  add("nan", [](const DecodeCase& c, int) { c.outputs.out.as<std::uint16_t>()[7] = kBf16NaN; });
  add("out-of-bounds",
      [](const DecodeCase& c, int) { c.outputs.out.whole[c.outputs.out.whole.size() - 100] = std::byte{0}; });
  add("writes-inputs", [](const DecodeCase& c, int) { c.inputs.q.as<std::uint16_t>()[3] = kBf16One; });
  add("writes-past-inputs", [](const DecodeCase& c, int) { c.inputs.kv.whole.back() ^= std::byte{1}; });
  add("unrepeatable", [](const DecodeCase& c, int launch) {
    if (launch % 2 == 1) c.outputs.out.as<std::uint16_t>()[7] ^= 1U;
  });
  add("keeps-first-answer", [kept = std::vector<std::byte>()](const DecodeCase& c, int launch) mutable {
    const std::span<std::byte> out = c.outputs.out.data();
    if (launch == 0) kept.assign(out.begin(), out.end());
    std::copy(kept.begin(), kept.end(), out.begin());
  });
  add("reads-past-inputs", [](const DecodeCase& c, int) {
    const std::span<std::byte> kv = c.inputs.kv.data();
    static_cast<void>(*const_cast<const volatile std::byte*>(kv.data() + kv.size() + Arena::kAlignment));
  });
  add("adds-to-output", [](const DecodeCase& c, int launch) {
    // What an atomic add onto outputs nobody cleared gives, where the first launch met cleared ones.
    if (launch == 1) c.outputs.out.as<std::uint16_t>()[7] = 0x714a;
  });
  add("unwritten", [](const DecodeCase& c, int) { poison_outputs(c.outputs); });
  add("throws", [](const DecodeCase&, int) { throw std::runtime_error("kernel launch failed\nwith a second line"); });
  add("aborts", [](const DecodeCase&, int) { std::abort(); });
  add("segfaults", [](const DecodeCase&, int) { segfault(); });
  add("exits", [](const DecodeCase&, int) { std::_Exit(0); });
  add("hangs", [](const DecodeCase&, int) { hang(); });
  return list;
}

}  // namespace mla::harness
