// A decode problem on a GPU, whoever's kernels run it: buffers, checked launches, and the timing that all share.
#pragma once

#include <optional>
#include <vector>

#include "harness/providers/hip/device.hpp"
#include "harness/providers/provider.hpp"

namespace mla::harness::hip {

/// Whether a timed launch includes planning. A launch that is checked always does.
enum class Planning : std::uint8_t { outside, inside };

/// Holds device copies of all buffers, guard zones included, so that canaries guard the device's memory too. A kernel
/// under test derives from it and says how its plan and its decode are put on the stream.
class DeviceExecution : public DecodeExecution {
 public:
  void run() final;
  void fetch() final;
  void refresh_inputs() final { upload_inputs(); }
  [[nodiscard]] double timed_run() final;
  [[nodiscard]] std::string timer() const final { return "hip_event"; }
  bool set_cache(CacheState state) final;
  [[nodiscard]] std::string cache_regime() const final;
  [[nodiscard]] std::string pci_address() const final;
  [[nodiscard]] std::vector<StageTime> stage_times() final;

 protected:
  /// Allocates; the derived constructor calls `upload_inputs` when it wants them on the device.
  DeviceExecution(const DecodeCase& problem_case, Planning planning);

  /// Puts planning for the batch on the stream; a planner on the host may wait for the device.
  virtual void enqueue_plan() = 0;
  /// Puts everything after planning on the stream, for the plan made last.
  virtual void enqueue_decode(const DecodeInputs& inputs) = 0;
  /// One launch as an engine issues it, on `inputs()`.
  virtual void enqueue_step();
  /// A planner on the host cannot be captured in a graph.
  [[nodiscard]] virtual bool plans_on_host() const { return false; }

  void upload_inputs();
  /// Overwrites the query, the page table and the lengths on the device: NaN queries, no page, an empty batch.
  void empty_inputs();

  [[nodiscard]] const DecodeCase& problem_case() const { return case_; }
  [[nodiscard]] const Stream& stream() const { return stream_; }
  /// Views on the device's copies.
  [[nodiscard]] const DecodeInputs& inputs() const { return inputs_; }
  [[nodiscard]] const DecodeOutputs& outputs() const { return outputs_; }

 private:
  struct DeviceBuffer {
    Buffer host;
    DeviceMemory memory;
    [[nodiscard]] Buffer view() const { return {host.name, memory.span()}; }
  };

  void upload_pages();
  void reset_outputs();
  [[nodiscard]] DecodeInputs inputs_with(const DeviceMemory& kv) const;
  void enqueue_timed(const DecodeInputs& inputs);
  void prepare_copies();

  DecodeCase case_;
  Planning planning_;
  Stream stream_;
  EventTimer timer_;
  DeviceBuffer q_, kv_, qo_indptr_, kv_indptr_, kv_indices_, kv_last_page_len_, out_, lse_;
  DecodeInputs inputs_;
  DecodeOutputs outputs_;
  bool hot_ = false;
  std::vector<DecodeInputs> pass_inputs_;  // the problem on every copy of the KV pool
  std::vector<DeviceMemory> copies_;
  std::optional<Graph> pass_;  // a timed launch on each of them; none where planning cannot be captured
};

}  // namespace mla::harness::hip
