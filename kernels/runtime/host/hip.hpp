// The HIP runtime names that the project uses, on the host: memory is the process's own, a launch has ended when it
// returns, and a stream is the options of its launches.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstring>
#include <new>

#include "kernels/runtime/host.hpp"

enum hipError_t : int { hipSuccess = 0, hipErrorInvalidValue = 1, hipErrorOutOfMemory = 2 };
enum hipMemcpyKind : int { hipMemcpyHostToDevice, hipMemcpyDeviceToHost, hipMemcpyDeviceToDevice, hipMemcpyDefault };
enum hipStreamCaptureMode : int { hipStreamCaptureModeThreadLocal };
inline constexpr unsigned hipStreamNonBlocking = 1;

namespace mla::host {

struct Event {
  std::chrono::steady_clock::time_point at;
};

/// Of an allocation, as of hipMalloc's.
inline constexpr std::align_val_t kAllocationAlignment{256};

}  // namespace mla::host

using hipStream_t = mla::host::LaunchOptions*;  // null: the defaults
using hipEvent_t = mla::host::Event*;
using hipGraph_t = mla::host::Graph*;
using hipGraphExec_t = mla::host::Graph*;
using hipGraphNode_t = void*;

inline const char* hipGetErrorName(hipError_t error) {
  return error == hipSuccess            ? "hipSuccess"
         : error == hipErrorOutOfMemory ? "hipErrorOutOfMemory"
                                        : "hipErrorInvalidValue";
}
inline const char* hipGetErrorString(hipError_t error) {
  return error == hipSuccess ? "no error" : error == hipErrorOutOfMemory ? "out of memory" : "invalid argument";
}

inline hipError_t hipMalloc(void** pointer, std::size_t bytes) {
  *pointer = ::operator new(bytes, mla::host::kAllocationAlignment, std::nothrow);
  return *pointer != nullptr ? hipSuccess : hipErrorOutOfMemory;
}
inline hipError_t hipFree(void* pointer) {
  ::operator delete(pointer, mla::host::kAllocationAlignment);
  return hipSuccess;
}
inline hipError_t hipMemcpy(void* to, const void* from, std::size_t bytes, hipMemcpyKind /*kind*/) {
  if (bytes > 0) std::memcpy(to, from, bytes);
  return hipSuccess;
}
inline hipError_t hipMemcpyAsync(void* to, const void* from, std::size_t bytes, hipMemcpyKind kind,
                                 hipStream_t /*stream*/) {
  return hipMemcpy(to, from, bytes, kind);
}
inline hipError_t hipMemset(void* to, int value, std::size_t bytes) {
  if (bytes > 0) std::memset(to, value, bytes);
  return hipSuccess;
}
inline hipError_t hipGetDevice(int* device) {
  *device = 0;
  return hipSuccess;
}

/// No bus: an empty address.
inline hipError_t hipDeviceGetPCIBusId(char* address, int /*size*/, int /*device*/) {
  *address = '\0';
  return hipSuccess;
}

inline hipError_t hipDeviceSynchronize() {
  return hipSuccess;
}

inline hipError_t hipStreamCreateWithFlags(hipStream_t* stream, unsigned /*flags*/) {
  *stream = new mla::host::LaunchOptions;
  return hipSuccess;
}
inline hipError_t hipStreamDestroy(hipStream_t stream) {
  delete stream;
  return hipSuccess;
}
inline hipError_t hipStreamSynchronize(hipStream_t /*stream*/) {
  return hipSuccess;
}
inline hipError_t hipStreamBeginCapture(hipStream_t stream, hipStreamCaptureMode /*mode*/) {
  if (stream == nullptr || stream->capture != nullptr) return hipErrorInvalidValue;
  stream->capture = new mla::host::Graph;
  return hipSuccess;
}
inline hipError_t hipStreamEndCapture(hipStream_t stream, hipGraph_t* graph) {
  if (stream == nullptr || stream->capture == nullptr) return hipErrorInvalidValue;
  *graph = stream->capture;
  stream->capture = nullptr;
  return hipSuccess;
}
/// Only how many nodes there are: `nodes` must be null.
inline hipError_t hipGraphGetNodes(hipGraph_t graph, hipGraphNode_t* nodes, std::size_t* count) {
  if (nodes != nullptr) return hipErrorInvalidValue;
  *count = graph->size();
  return hipSuccess;
}
inline hipError_t hipGraphInstantiateWithFlags(hipGraphExec_t* executable, hipGraph_t graph,
                                               unsigned long long /*flags*/) {
  *executable = new mla::host::Graph(*graph);
  return hipSuccess;
}
inline hipError_t hipGraphLaunch(hipGraphExec_t executable, hipStream_t stream) {
  executable->replay(stream != nullptr ? *stream : mla::host::LaunchOptions{});
  return hipSuccess;
}
inline hipError_t hipGraphExecDestroy(hipGraphExec_t executable) {
  delete executable;
  return hipSuccess;
}
inline hipError_t hipGraphDestroy(hipGraph_t graph) {
  delete graph;
  return hipSuccess;
}

inline hipError_t hipEventCreate(hipEvent_t* event) {
  *event = new mla::host::Event;
  return hipSuccess;
}
inline hipError_t hipEventDestroy(hipEvent_t event) {
  delete event;
  return hipSuccess;
}
inline hipError_t hipEventRecord(hipEvent_t event, hipStream_t /*stream*/) {
  event->at = std::chrono::steady_clock::now();
  return hipSuccess;
}
inline hipError_t hipEventSynchronize(hipEvent_t /*event*/) {
  return hipSuccess;
}
inline hipError_t hipEventElapsedTime(float* milliseconds, hipEvent_t start, hipEvent_t stop) {
  *milliseconds = std::chrono::duration<float, std::milli>(stop->at - start->at).count();
  return hipSuccess;
}
