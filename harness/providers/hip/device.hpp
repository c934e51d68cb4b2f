// Device memory, streams, graphs and events as objects; every runtime error becomes an exception.
#pragma once

#include <cstddef>
#include <span>
#include <string_view>
#include <utility>

#include "harness/core/error.hpp"
#include "kernels/runtime/runtime.hpp"

namespace mla::harness::hip {

/// Throws EnvironmentError naming the call and the runtime's own word for the error.
void check(hipError_t error, std::string_view call);

/// Whether the system shows a GPU. Asking the runtime would start it, and a runtime started before a fork does not work
/// in the child.
[[nodiscard]] bool device_file_exists();

/// Owned device memory.
class DeviceMemory {
 public:
  DeviceMemory() = default;
  explicit DeviceMemory(std::size_t bytes) : bytes_(bytes) { check(hipMalloc(&address_, bytes), "hipMalloc"); }
  DeviceMemory(DeviceMemory&& other) noexcept
      : address_(std::exchange(other.address_, nullptr)), bytes_(std::exchange(other.bytes_, 0)) {}
  DeviceMemory& operator=(DeviceMemory&& other) noexcept {
    std::swap(address_, other.address_);
    std::swap(bytes_, other.bytes_);
    return *this;
  }
  DeviceMemory(const DeviceMemory&) = delete;
  DeviceMemory& operator=(const DeviceMemory&) = delete;
  ~DeviceMemory() { (void)hipFree(address_); }

  [[nodiscard]] std::byte* data() const { return static_cast<std::byte*>(address_); }
  [[nodiscard]] std::size_t size() const { return bytes_; }
  [[nodiscard]] std::span<std::byte> span() const { return {data(), bytes_}; }

 private:
  void* address_ = nullptr;
  std::size_t bytes_ = 0;
};

void upload(std::byte* to, std::span<const std::byte> from);
void download(std::span<std::byte> to, const std::byte* from);

class Stream {
 public:
  Stream() { check(hipStreamCreateWithFlags(&stream_, hipStreamNonBlocking), "hipStreamCreateWithFlags"); }
  ~Stream() { (void)hipStreamDestroy(stream_); }
  Stream(const Stream&) = delete;
  Stream& operator=(const Stream&) = delete;

  [[nodiscard]] hipStream_t get() const { return stream_; }
  void synchronize() const { check(hipStreamSynchronize(stream_), "hipStreamSynchronize"); }

 private:
  hipStream_t stream_ = nullptr;
};

/// A captured sequence of launches.
class Graph {
 public:
  /// Captures what `enqueue` puts on the stream.
  template <class Enqueue>
  Graph(const Stream& stream, const Enqueue& enqueue) {
    check(hipStreamBeginCapture(stream.get(), hipStreamCaptureModeThreadLocal), "hipStreamBeginCapture");
    enqueue();
    check(hipStreamEndCapture(stream.get(), &graph_), "hipStreamEndCapture");
    check(hipGraphInstantiateWithFlags(&executable_, graph_, 0), "hipGraphInstantiateWithFlags");
  }
  ~Graph() {
    (void)hipGraphExecDestroy(executable_);
    (void)hipGraphDestroy(graph_);
  }
  Graph(const Graph&) = delete;
  Graph& operator=(const Graph&) = delete;

  /// How many launches were captured.
  [[nodiscard]] std::size_t nodes() const {
    std::size_t count = 0;
    check(hipGraphGetNodes(graph_, nullptr, &count), "hipGraphGetNodes");
    return count;
  }

  void launch(const Stream& stream) const { check(hipGraphLaunch(executable_, stream.get()), "hipGraphLaunch"); }

 private:
  hipGraph_t graph_ = nullptr;
  hipGraphExec_t executable_ = nullptr;
};

/// Two events around work on a stream.
class EventTimer {
 public:
  EventTimer() {
    check(hipEventCreate(&begin_), "hipEventCreate");
    check(hipEventCreate(&end_), "hipEventCreate");
  }
  ~EventTimer() {
    (void)hipEventDestroy(begin_);
    (void)hipEventDestroy(end_);
  }
  EventTimer(const EventTimer&) = delete;
  EventTimer& operator=(const EventTimer&) = delete;

  /// Nanoseconds that what `enqueue` puts on the stream takes there.
  template <class Enqueue>
  [[nodiscard]] double measure(const Stream& stream, const Enqueue& enqueue) const {
    check(hipEventRecord(begin_, stream.get()), "hipEventRecord");
    enqueue();
    check(hipEventRecord(end_, stream.get()), "hipEventRecord");
    check(hipEventSynchronize(end_), "hipEventSynchronize");
    float milliseconds = 0;
    check(hipEventElapsedTime(&milliseconds, begin_, end_), "hipEventElapsedTime");
    return static_cast<double>(milliseconds) * 1e6;
  }

 private:
  hipEvent_t begin_ = nullptr;
  hipEvent_t end_ = nullptr;
};

}  // namespace mla::harness::hip
