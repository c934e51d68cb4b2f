// A decode call through the public API, on whichever target the test is linked with.
#pragma once

#include <cstdint>
#include <iosfwd>
#include <string>
#include <vector>

#include "harness/providers/hip/device.hpp"
#include "mla/api.hpp"

namespace mla::test {

/// What stays fixed over a captured graph's life. Of the fp8 encodings, either stands for the device's own.
struct CallShape {
  std::string name;
  DataType q = DataType::bf16;
  DataType kv = DataType::bf16;
  int heads = 16;
  int max_batch = 4;
  int max_q_len = 1;
  int page_size = 16;
  int workers = 5;  // 0: as many as the device wants
  bool causal = true;
};
/// For GoogleTest.
void PrintTo(const CallShape& shape, std::ostream* text);

/// What may change between two replays: lengths and page tables, and by `seed` the queries. One entry a request.
struct CallContents {
  std::vector<int> q_len;
  std::vector<int> kv_len;
  std::uint64_t seed = 0;
};

/// Arguments in device memory, sized for the shape's limits and for KV lengths up to `max_kv`. All arguments are public
/// and may be spoilt; what they point to lives as long as the object.
class DeviceCall {
 public:
  DeviceCall(const CallShape& shape, int max_kv);

  /// Writes lengths, a page table of its own and queries into the same buffers as ever. `contents` has as many entries
  /// as the shape has requests.
  void set(const CallContents& contents);

  /// Outputs and workspace become NaN.
  void poison();
  [[nodiscard]] Status plan();
  [[nodiscard]] Status decode();
  /// Poisons, plans and decodes; the bytes of out and lse, rows beyond the batch's included.
  [[nodiscard]] std::vector<std::byte> eager();
  /// Poisons and replays.
  [[nodiscard]] std::vector<std::byte> replay(const harness::hip::Graph& graph);

  [[nodiscard]] std::vector<std::byte> output_bytes() const;
  [[nodiscard]] std::vector<std::byte> workspace_bytes_on_host() const;
  /// The plan's header, from the device.
  [[nodiscard]] PlanHeader header() const;
  /// Host copies of the index arrays that `set` wrote.
  [[nodiscard]] RaggedBatchView host_batch() const;

  /// Row of out (token, head), as bit patterns; and its lse.
  [[nodiscard]] static std::vector<std::uint16_t> row(const std::vector<std::byte>& outputs, const CallShape& shape,
                                                      int token, int head);
  [[nodiscard]] static float lse(const std::vector<std::byte>& outputs, const CallShape& shape, int token, int head);

  DeviceModel model;
  CallShape shape;
  PlanLimits limits;
  DecodeInputs inputs;
  DecodeOutputs outputs;
  void* workspace = nullptr;
  std::size_t workspace_bytes = 0;
  harness::hip::Stream stream;

 private:
  void write_index_arrays(const CallContents& contents);

  int max_pages_;  // of one request
  std::vector<std::int32_t> qo_indptr_, kv_indptr_, kv_indices_, kv_last_page_len_;
  harness::hip::DeviceMemory q_, kv_, device_qo_indptr_, device_kv_indptr_, device_kv_indices_, device_last_page_, out_,
      lse_, workspace_;
};

}  // namespace mla::test
