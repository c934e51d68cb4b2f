#include "harness/providers/host/provider.hpp"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <new>
#include <string>

#include "harness/core/error.hpp"
#include "harness/providers/host/digest.hpp"
#include "harness/providers/worker_pool.hpp"
#include "kernels/arch/host/target.hpp"
#include "mla/status.hpp"

namespace mla::harness {

namespace {

using Clock = std::chrono::steady_clock;

const host::Target& target_for(DataType q, DataType kv) {
  const bool fnuz = q == DataType::e4m3fnuz || kv == DataType::e4m3fnuz;
  return fnuz ? host::gfx942_target() : host::gfx950_target();
}

struct AlignedDelete {
  void operator()(std::byte* memory) const { ::operator delete[](memory, std::align_val_t{256}); }
};

double ns_between(Clock::time_point begin, Clock::time_point end) {
  return std::chrono::duration<double, std::nano>(end - begin).count();
}

class HostDecode final : public DecodeExecution {
 public:
  HostDecode(const DecodeCase& c, const HostOptions& options)
      : target_(target_for(c.layout.q_type(), c.layout.kv_type())),
        inputs_(c.layout.bind(c.inputs)),
        outputs_(c.layout.bind(c.outputs)),
        limits_(limits_of(c)) {
    if (const Status status = validate(limits_); !status.ok())
      throw UsageError("problem", c.problem.word(), message(status));
    workspace_bytes_ = workspace_size(limits_);
    workspace_.reset(static_cast<std::byte*>(::operator new[](workspace_bytes_, std::align_val_t{256})));
    std::memset(workspace_.get(), 0xff, workspace_bytes_);
    launch_.seed = options.seed * 0x9e3779b97f4a7c15ULL + c.problem.fields().seed;
    launch_.threads = options.threads > 0 ? options.threads : available_cores();
    add_buffers(c);
  }

  void run() override {
    plan();
    decode();
  }

  [[nodiscard]] KernelInfo kernel() const override {
    const WorkspaceLayout layout = workspace_layout(limits_);
    return {"mla_decode", std::string(target_.model.target) + ".rows" + std::to_string(layout.tile.rows),
            std::string(host_provider::kSourceDigest)};
  }
  [[nodiscard]] Precision precision() const override { return target_.precision(inputs_.q.dtype, inputs_.kv.dtype); }

  [[nodiscard]] std::vector<StageTime> stage_times() override {
    const auto begin = Clock::now();
    plan();
    const auto planned = Clock::now();
    decode();
    return {{"plan", ns_between(begin, planned)}, {"decode", ns_between(planned, Clock::now())}};
  }

 private:
  [[nodiscard]] PlanLimits limits_of(const DecodeCase& c) const {
    const auto& fields = c.problem.fields();
    PlanLimits limits = target_.limits(target_.model, c.layout.q_type(), c.layout.kv_type(), fields.heads,
                                       c.problem.batch(), std::max(1, c.problem.max_q_len()), fields.causal);
    limits.max_total_q = static_cast<std::int32_t>(c.problem.total_q());
    limits.num_workers = fields.workers > 0 ? fields.workers : host::kDefaultWorkers;
    limits.split_limit = fields.split_limit;
    return limits;
  }

  void add_buffers(const DecodeCase& c) {
    using Access = host::Memory::Access;
    const auto add = [&](const Buffer& buffer, Access access) {
      launch_.memory.add(buffer.name, buffer.data().data(), buffer.data().size(), access);
    };
    for (const Buffer* input : {&c.inputs.q, &c.inputs.kv, &c.inputs.qo_indptr, &c.inputs.kv_indptr,
                                &c.inputs.kv_indices, &c.inputs.kv_last_page_len}) {
      add(*input, Access::read);
    }
    add(c.outputs.out, Access::write);
    add(c.outputs.lse, Access::write);
    launch_.memory.add("workspace", workspace_.get(), workspace_bytes_, Access::write);
  }

  void plan() {
    ++launch_.seed;
    require(target_.plan(limits_, inputs_.batch, inputs_.kv.page_size, workspace_.get(), workspace_bytes_, &launch_));
  }
  void decode() {
    ++launch_.seed;
    require(target_.decode(inputs_, outputs_, limits_, workspace_.get(), workspace_bytes_, &launch_));
  }
  static void require(const Status& status) {
    if (!status.ok()) throw EnvironmentError(message(status));
  }

  const host::Target& target_;
  DecodeInputs inputs_;
  DecodeOutputs outputs_;
  PlanLimits limits_;
  std::size_t workspace_bytes_ = 0;
  std::unique_ptr<std::byte[], AlignedDelete> workspace_;
  host::LaunchOptions launch_;
};

class HostProvider final : public Provider {
 public:
  explicit HostProvider(const HostOptions& options) : options_(options) {}

  [[nodiscard]] std::string_view name() const override { return "host"; }
  [[nodiscard]] bool runs_by_default() const override { return false; }
  [[nodiscard]] std::string_view description() const override {
    return "the GPU kernels' source executed lane by lane on the CPU, as gfx950 (e4m3fnuz: gfx942)";
  }
  [[nodiscard]] Support supports(const DecodeProblem& problem) const override {
    if (problem.batch() <= kMostHostRequests) return {};
    return {SkipReason::unsupported_shape, "more than " + std::to_string(kMostHostRequests) +
                                               " requests take minutes of CPU time a launch, lane by lane"};
  }
  [[nodiscard]] std::unique_ptr<DecodeExecution> prepare(const DecodeCase& c) const override {
    return std::make_unique<HostDecode>(c, options_);
  }

 private:
  HostOptions options_;
};

}  // namespace

std::unique_ptr<Provider> make_host_provider(const HostOptions& options) {
  return std::make_unique<HostProvider>(options);
}

}  // namespace mla::harness
