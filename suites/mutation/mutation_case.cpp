#include "suites/mutation/mutation_case.hpp"

#include <algorithm>
#include <utility>

#include "harness/checks/probes.hpp"
#include "harness/problem/problem.hpp"
#include "suites/mutation/emulated_kernel.hpp"
#include "suites/mutation/emulated_provider.hpp"

namespace mla::mutation {

namespace {

using harness::MadeInputs;

void shrink_row(std::span<std::byte> row) {
  auto* const elements = static_cast<Bfloat16*>(static_cast<void*>(row.data()));
  for (int dim = 0; dim < kHeadDim; ++dim) {
    elements[dim] = Bfloat16::from_float(std::clamp(elements[dim].to_float() / 10, -1.0F, 1.0F));
  }
}

MadeInputs make(const std::string& word, Contents contents) {
  MadeInputs made(harness::Problem::parse(word).visit([](const auto& problem) { return problem.fields(); }));
  if (contents == Contents::as_named) return made;
  for (std::int64_t token = 0; token < made.problem.total_q(); ++token) {
    for (int head = 0; head < made.problem.fields().heads; ++head) shrink_row(made.q_row(token, head));
  }
  for (int request = 0; request < made.problem.batch(); ++request) {
    for (std::int64_t token = 0; token < made.problem.kv_len(request); ++token) {
      shrink_row(made.kv_row(request, token));
    }
  }
  return made;
}

}  // namespace

MutationCase::MutationCase(const std::string& word, Contents contents)
    : made_(make(word, contents)),
      oracle_(made_.views(), made_.problem.total_q()),
      arena_(harness::Arena::create(made_.layout.output_bytes())),
      outputs_(made_.layout.take_outputs(arena_)) {}

Precision MutationCase::precision() const {
  return emulated_precision(made_.layout.q_type());
}

void MutationCase::launch(const Fault& fault, const MadeInputs& on) const {
  harness::poison_outputs(outputs_);
  emulated_provider(fault)->prepare({on.problem, on.layout, on.buffers, outputs_})->run();
}

bool MutationCase::probes_catch(const Fault& fault) const {
  // Of a sweep's launches the first has equal weights, the next ones the other kinds of rows in turn.
  constexpr int kLaunches = 4;
  const MadeInputs probed(made_.problem.fields());
  harness::ProbeInputs inputs(probed.problem, probed.layout, probed.buffers);
  harness::ProbeCheck probes(probed.problem, probed.layout, inputs, precision());
  for (int number = 0; number < std::min(kLaunches, inputs.launches()); ++number) {
    inputs.fill(number);
    launch(fault, probed);
    probes.add(number, outputs_);
  }
  return !probes.passed();
}

harness::DecodeCheck MutationCase::run(const Fault& fault) const {
  launch(fault, made_);
  return harness::check_decode(made_.problem, made_.layout, oracle(), outputs_, precision());
}

std::vector<harness::RelationResult> MutationCase::relations(const Fault& fault) const {
  const harness::DecodeCase base{made_.problem, made_.layout, made_.buffers, outputs_};
  const Precision declared = precision();
  const auto provider = emulated_provider(fault);
  const auto execution = provider->prepare(base);
  harness::poison_outputs(outputs_);
  execution->run();
  return harness::check_metamorphic({base, oracle(), *provider, declared}, *execution);
}

std::optional<harness::Locus> MutationCase::locus() const {
  return harness::localise(made_.problem, inputs(), oracle(), made_.layout.bind(outputs_), precision());
}

std::vector<double> MutationCase::out() const {
  const OutputView view = made_.layout.bind(outputs_).out;
  const int heads = made_.problem.fields().heads;
  std::vector<double> values;
  for (std::int64_t row = 0; row < oracle().rows; ++row) {
    const auto* const out =
        static_cast<const Bfloat16*>(view.data) + row / heads * view.token_stride + row % heads * view.head_stride;
    for (int dim = 0; dim < kValueDim; ++dim) values.push_back(static_cast<double>(out[dim].to_float()));
  }
  return values;
}

std::vector<double> MutationCase::lse() const {
  const LseView view = made_.layout.bind(outputs_).lse;
  const int heads = made_.problem.fields().heads;
  std::vector<double> values;
  for (std::int64_t row = 0; row < oracle().rows; ++row) {
    values.push_back(static_cast<double>(view.data[row / heads * view.token_stride + row % heads * view.head_stride]));
  }
  return values;
}

std::vector<std::string> caught_by(const harness::DecodeCheck& check) {
  std::vector<std::string> names;
  const auto add = [&](const std::string& name) {
    if (std::find(names.begin(), names.end(), name) == names.end()) names.push_back(name);
  };
  for (const harness::TierResult& tier : check.tiers) {
    if (tier.verdict == harness::TierVerdict::failed) add(tier.name);
  }
  for (const harness::CheckFailure& failure : check.failures) add(failure.kind);
  return names;
}

bool any_of_tiers(std::string_view tiers, const std::vector<std::string>& names) {
  while (!tiers.empty()) {
    const std::string_view tier = tiers.substr(0, tiers.find('|'));
    tiers.remove_prefix(std::min(tier.size() + 1, tiers.size()));
    if (std::find(names.begin(), names.end(), tier) != names.end()) return true;
  }
  return false;
}

}  // namespace mla::mutation
