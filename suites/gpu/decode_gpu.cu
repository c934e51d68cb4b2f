// Checks and times the decode kernels on a GPU, with nothing but the device compiler: no harness, no libraries. The
// check compares with a plain double-precision loop; the times are of graph replays over rotating KV sets.
//
//   decode_gpu check [NAME]     every case of the list, or one; exit code 1 if one is wrong
//   decode_gpu time [FILTER]    the shapes of the public comparison table
//   decode_gpu once [FILTER]    three launches of each, for a profiler
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <numeric>
#include <random>
#include <string>
#include <vector>

#include "kernels/runtime/runtime.hpp"
#include "mla/api.hpp"
#include "mla/plan.hpp"

namespace {

using namespace mla;

void check(hipError_t error, const char* what) {
  if (error == hipSuccess) return;
  std::fprintf(stderr, "%s: %s\n", what, hipGetErrorString(error));
  std::exit(2);
}

void require(const Status& status, const char* what) {
  if (status.ok()) return;
  std::fprintf(stderr, "%s: %s\n", what, message(status).c_str());
  std::exit(2);
}

/// Device memory that lives as long as the object.
template <class T>
class DeviceArray {
 public:
  explicit DeviceArray(std::size_t count) : count_(count) {
    void* raw = nullptr;
    check(hipMalloc(&raw, std::max<std::size_t>(count, 1) * sizeof(T)), "hipMalloc");
    data_ = static_cast<T*>(raw);
  }
  explicit DeviceArray(const std::vector<T>& values) : DeviceArray(values.size()) {
    check(hipMemcpy(data_, values.data(), values.size() * sizeof(T), hipMemcpyHostToDevice), "upload");
  }
  DeviceArray(const DeviceArray&) = delete;
  DeviceArray& operator=(const DeviceArray&) = delete;
  ~DeviceArray() { (void)hipFree(data_); }
  T* get() const { return data_; }
  std::size_t bytes() const { return count_ * sizeof(T); }
  std::vector<T> download() const {
    std::vector<T> values(count_);
    check(hipMemcpy(values.data(), data_, bytes(), hipMemcpyDeviceToHost), "download");
    return values;
  }

 private:
  T* data_ = nullptr;
  std::size_t count_;
};

// ---- inputs ------------------------------------------------------------------------------------------------------

__device__ std::uint64_t mix(std::uint64_t x) {
  x += 0x9e3779b97f4a7c15ULL;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ULL;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebULL;
  return x ^ (x >> 31);
}

__device__ float normal(std::uint64_t seed) {
  const std::uint64_t bits = mix(seed);
  const float u = (static_cast<float>(bits >> 40) + 0.5F) * 0x1p-24F;
  const float v = static_cast<float>(bits & 0xffffff) * 0x1p-24F;
  return sqrtf(-2.0F * logf(u)) * cosf(6.2831853F * v);
}

__global__ void fill_normal(void* data, DataType type, std::size_t count, std::uint64_t seed) {
  for (std::size_t i = blockIdx.x * std::size_t{blockDim.x} + threadIdx.x; i < count;
       i += std::size_t{gridDim.x} * blockDim.x) {
    const float value = normal(seed * 0x100000001b3ULL + i);
    if (type == DataType::bf16) {
      static_cast<Bfloat16*>(data)[i] = Bfloat16::from_float(value);
    } else {
      static_cast<Float8E4M3FN*>(data)[i] = Float8E4M3FN::from_float(value);
    }
  }
}

// Makes every token of the pool that no request refers to NaN.
__global__ void poison_unused(std::byte* kv, int token_bytes, const std::uint8_t* used, std::int64_t tokens) {
  const std::int64_t token = blockIdx.x;
  if (token >= tokens || used[token]) return;
  for (int i = threadIdx.x; i < token_bytes; i += blockDim.x) kv[token * token_bytes + i] = std::byte{0xff};
}

// ---- the oracle --------------------------------------------------------------------------------------------------

__device__ double element(const void* data, DataType type, std::int64_t at) {
  return type == DataType::bf16 ? static_cast<const Bfloat16*>(data)[at].to_float()
                                : static_cast<const Float8E4M3FN*>(data)[at].to_float();
}

// One block a (row of q, head), in double, token by token.
__global__ void oracle(DecodeInputs in, double* out, double* lse, double* scores, std::int64_t score_stride) {
  const int head = blockIdx.x;
  const int token = blockIdx.y;
  int request = 0;
  while (in.batch.qo_indptr[request + 1] <= token) ++request;
  const int q_len = in.batch.qo_indptr[request + 1] - in.batch.qo_indptr[request];
  const std::int64_t kv_len = in.batch.kv_length(request, in.kv.page_size);
  std::int64_t visible = in.causal ? kv_len - q_len + (token - in.batch.qo_indptr[request]) + 1 : kv_len;
  if (visible < 0) visible = 0;
  const std::int64_t row = std::int64_t{token} * in.heads + head;
  double* s = scores + (blockIdx.y * gridDim.x + blockIdx.x) * score_stride;
  const auto kv_at = [&](std::int64_t position) {
    const std::int64_t page = in.batch.kv_indices[in.batch.kv_indptr[request] + position / in.kv.page_size];
    return page * in.kv.page_stride + position % in.kv.page_size * in.kv.token_stride;
  };
  const double scale = double{in.sm_scale} * double{in.q_scale} * double{in.kv_scale};
  for (std::int64_t k = threadIdx.x; k < visible; k += blockDim.x) {
    double dot = 0;
    for (int d = 0; d < kHeadDim; ++d) {
      dot += element(in.q.data, in.q.dtype, token * in.q.token_stride + head * in.q.head_stride + d) *
             element(in.kv.data, in.kv.dtype, kv_at(k) + d);
    }
    s[k] = dot * scale;
  }
  __syncthreads();
  double highest = -INFINITY;
  for (std::int64_t k = 0; k < visible; ++k) highest = s[k] > highest ? s[k] : highest;
  double sum = 0;
  for (std::int64_t k = 0; k < visible; ++k) sum += exp(s[k] - highest);
  for (int d = threadIdx.x; d < kValueDim; d += blockDim.x) {
    double value = 0;
    for (std::int64_t k = 0; k < visible; ++k) {
      value += exp(s[k] - highest) * element(in.kv.data, in.kv.dtype, kv_at(k) + d);
    }
    out[row * kValueDim + d] = visible > 0 ? value * in.kv_scale / sum : 0;
  }
  if (threadIdx.x == 0) lse[row] = visible > 0 ? highest + log(sum) : -INFINITY;
}

// ---- one problem -------------------------------------------------------------------------------------------------

struct Problem {
  std::string name;
  int heads = 16;
  std::vector<int> q_len;
  std::vector<int> kv_len;
  int page = 64;
  DataType q = DataType::bf16;
  DataType kv = DataType::bf16;
  bool causal = true;
  float q_scale = 1;
  float kv_scale = 1;
  int workers = 0;  // 0: one a multiprocessor
};

/// MLA_COST=work,partial,merge,merge_per_split: other costs than the device's own, to find these.
void take_cost_from_environment(CostModel& cost) {
  const char* text = std::getenv("MLA_COST");
  if (text == nullptr) return;
  std::sscanf(text, "%d,%d,%d,%d", &cost.work, &cost.partial, &cost.merge, &cost.merge_per_split);
}

/// The device side of a problem, with `sets` disjoint sets of KV pages of one pool.
class Bench {
 public:
  Bench(const Problem& problem, int sets, std::uint64_t seed, bool poison)
      : problem_(problem),
        tokens_(std::accumulate(problem.q_len.begin(), problem.q_len.end(), 0)),
        batch_(static_cast<int>(problem.kv_len.size())),
        limits_(limits_of(problem)),
        layout_(workspace_layout(limits_)),
        workspace_(layout_.bytes),
        q_(std::size_t(tokens_) * problem.heads * kHeadDim * size_in_bytes(problem.q)),
        out_(std::size_t(tokens_) * problem.heads * kValueDim),
        lse_(std::size_t(tokens_) * problem.heads),
        pages_per_set_(count_pages(problem)),
        pool_pages_(std::int64_t{pages_per_set_} * sets + 3),
        kv_(std::size_t(pool_pages_) * problem.page * kHeadDim * size_in_bytes(problem.kv)),
        indices_(permutation(std::int64_t{pages_per_set_} * sets, pool_pages_, seed)),
        kv_indices_(indices_),
        qo_indptr_(running_sum(problem.q_len, 1)),
        kv_indptr_(running_sum(problem.kv_len, problem.page)),
        last_page_(last_pages(problem)) {
    fill_normal<<<1024, 256>>>(q_.get(), problem.q, q_.bytes() / size_in_bytes(problem.q), seed + 1);
    fill_normal<<<4096, 256>>>(kv_.get(), problem.kv, kv_.bytes() / size_in_bytes(problem.kv), seed + 2);
    check(hipMemset(workspace_.get(), 0xff, workspace_.bytes()), "poison");
    check(hipMemset(out_.get(), 0xff, out_.bytes()), "poison");
    check(hipMemset(lse_.get(), 0xff, lse_.bytes()), "poison");
    if (poison) poison_pool();
    check(hipDeviceSynchronize(), "inputs");
    require(prepare(limits_), "prepare");
  }

  DecodeInputs inputs(int set) const {
    DecodeInputs in;
    in.q = {q_.get(), problem_.q, std::int64_t{problem_.heads} * kHeadDim, kHeadDim};
    in.kv = {kv_.get(), problem_.kv, std::int64_t{problem_.page} * kHeadDim, kHeadDim, pool_pages_, problem_.page};
    in.batch = {batch_, qo_indptr_.get(), kv_indptr_.get(), kv_indices_.get() + std::int64_t{set} * pages_per_set_,
                last_page_.get()};
    in.heads = problem_.heads;
    in.causal = problem_.causal;
    in.sm_scale = 0.1352338F;
    in.q_scale = problem_.q_scale;
    in.kv_scale = problem_.kv_scale;
    return in;
  }

  void plan(hipStream_t stream) const {
    require(launch_plan(limits_, inputs(0).batch, problem_.page, workspace_.get(), workspace_.bytes(), stream), "plan");
  }

  void decode(int set, hipStream_t stream) const {
    DecodeOutputs outputs;
    outputs.out = {out_.get(), DataType::bf16, std::int64_t{problem_.heads} * kValueDim, kValueDim};
    outputs.lse = {lse_.get(), problem_.heads, 1};
    require(launch_decode(inputs(set), outputs, limits_, workspace_.get(), workspace_.bytes(), stream), "decode");
  }

  PlanHeader header() const {
    PlanHeader header;
    check(hipMemcpy(&header, bind_workspace(workspace_.get(), layout_).header, sizeof header, hipMemcpyDeviceToHost),
          "header");
    return header;
  }

  std::int64_t kv_tokens() const { return std::accumulate(problem_.kv_len.begin(), problem_.kv_len.end(), 0LL); }
  std::int64_t set_bytes() const { return kv_tokens() * kHeadDim * size_in_bytes(problem_.kv); }
  std::int64_t total_bytes() const {
    return set_bytes() + static_cast<std::int64_t>(q_.bytes()) + static_cast<std::int64_t>(out_.bytes());
  }
  double flops() const {
    double sum = 0;
    for (int b = 0; b < batch_; ++b)
      sum += 2.0 * problem_.heads * (kHeadDim + kValueDim) * problem_.q_len[b] * problem_.kv_len[b];
    return sum;
  }

  /// Largest relative error of a row of out (2-norm), and of lse; NaN where anything is not finite that should be.
  std::pair<double, double> errors() const {
    const std::int64_t rows = std::int64_t{tokens_} * problem_.heads;
    const int longest = *std::max_element(problem_.kv_len.begin(), problem_.kv_len.end());
    DeviceArray<double> out(rows * kValueDim);
    DeviceArray<double> lse(rows);
    DeviceArray<double> scores(std::size_t(rows) * std::max(longest, 1));
    oracle<<<dim3(problem_.heads, tokens_), 256>>>(inputs(0), out.get(), lse.get(), scores.get(), std::max(longest, 1));
    check(hipDeviceSynchronize(), "oracle");
    return compare(out.download(), lse.download());
  }

  std::vector<std::uint16_t> out() const { return out_.download(); }

 private:
  static PlanLimits limits_of(const Problem& problem) {
    DeviceModel model;
    require(describe_device(&model), "device");
    const int longest = std::max(1, *std::max_element(problem.q_len.begin(), problem.q_len.end()));
    PlanLimits limits = model.limits(problem.q, problem.kv, problem.heads, static_cast<int>(problem.kv_len.size()),
                                     longest, problem.causal);
    if (problem.workers > 0) limits.num_workers = std::min(limits.num_workers, problem.workers);
    take_cost_from_environment(limits.cost);
    return limits;
  }
  static int pages_of(int kv_len, int page) { return (kv_len + page - 1) / page; }
  static int count_pages(const Problem& problem) {
    int pages = 0;
    for (const int length : problem.kv_len) pages += pages_of(length, problem.page);
    return pages;
  }
  static std::vector<int> running_sum(const std::vector<int>& values, int divisor) {
    std::vector<int> sums{0};
    for (const int value : values) sums.push_back(sums.back() + pages_of(value, divisor));
    return sums;
  }
  static std::vector<int> last_pages(const Problem& problem) {
    std::vector<int> last;
    for (const int length : problem.kv_len) last.push_back(length == 0 ? 0 : (length - 1) % problem.page + 1);
    return last;
  }
  static std::vector<int> permutation(std::int64_t count, std::int64_t pool, std::uint64_t seed) {
    std::vector<int> all(pool);
    std::iota(all.begin(), all.end(), 0);
    std::mt19937_64 random(seed);
    std::shuffle(all.begin(), all.end(), random);
    all.resize(count);
    return all;
  }

  void poison_pool() const {
    std::vector<std::uint8_t> used(pool_pages_ * problem_.page, 0);
    std::size_t at = 0;
    for (const int length : problem_.kv_len) {
      for (int position = 0; position < length; ++position) {
        used[std::int64_t{indices_[at + position / problem_.page]} * problem_.page + position % problem_.page] = 1;
      }
      at += pages_of(length, problem_.page);
    }
    DeviceArray<std::uint8_t> flags(used);
    const int token_bytes = kHeadDim * size_in_bytes(problem_.kv);
    poison_unused<<<static_cast<unsigned>(used.size()), 128>>>(kv_.get(), token_bytes, flags.get(),
                                                               static_cast<std::int64_t>(used.size()));
    check(hipDeviceSynchronize(), "poison");
  }

  std::pair<double, double> compare(const std::vector<double>& want, const std::vector<double>& want_lse) const {
    const std::vector<std::uint16_t> got = out_.download();
    const std::vector<float> got_lse = lse_.download();
    double worst = 0;
    double worst_lse = 0;
    for (std::size_t row = 0; row < want_lse.size(); ++row) {
      double difference = 0;
      double size = 0;
      for (int d = 0; d < kValueDim; ++d) {
        const double g = Bfloat16{got[row * kValueDim + d]}.to_float();
        const double w = want[row * kValueDim + d];
        difference += (g - w) * (g - w);
        size += w * w;
      }
      const double ratio = std::sqrt(difference / (size > 0 ? size : 1));
      if (!(ratio <= worst)) worst = ratio;
      if (std::isinf(want_lse[row])) {
        if (got_lse[row] != -INFINITY) worst_lse = NAN;
        continue;
      }
      const double off = std::abs(got_lse[row] - want_lse[row]);
      if (!(off <= worst_lse)) worst_lse = off;
    }
    return {worst, worst_lse};
  }

  Problem problem_;
  int tokens_;
  int batch_;
  PlanLimits limits_;
  WorkspaceLayout layout_;
  DeviceArray<std::byte> workspace_;
  DeviceArray<std::byte> q_;
  DeviceArray<std::uint16_t> out_;
  DeviceArray<float> lse_;
  int pages_per_set_;
  std::int64_t pool_pages_;
  DeviceArray<std::byte> kv_;
  std::vector<int> indices_;
  DeviceArray<int> kv_indices_;
  DeviceArray<int> qo_indptr_;
  DeviceArray<int> kv_indptr_;
  DeviceArray<int> last_page_;
};

// ---- check -------------------------------------------------------------------------------------------------------

std::vector<Problem> check_cases() {
  std::vector<Problem> cases;
  const auto add = [&](const char* name, int heads, std::vector<int> q, std::vector<int> kv, int page, bool causal,
                       int workers) {
    q.resize(kv.size(), q.back());
    for (const auto& [tq, tkv] : {std::pair{DataType::bf16, DataType::bf16},
                                  {DataType::bf16, DataType::e4m3fn},
                                  {DataType::e4m3fn, DataType::e4m3fn}}) {
      Problem problem{name, heads, q, kv, page, tq, tkv, causal};
      problem.workers = workers;
      if (is_fp8(tkv)) problem.kv_scale = 0.75F;
      if (is_fp8(tq)) problem.q_scale = 1.25F;
      cases.push_back(problem);
    }
  };
  add("one tile", 16, {1}, {32}, 64, true, 1);
  add("one token", 16, {1}, {1}, 64, true, 1);
  add("two tiles", 16, {1}, {64}, 64, true, 1);
  add("ragged tail", 16, {1}, {333}, 64, true, 1);
  add("split", 16, {1}, {4096}, 64, true, 0);
  add("page 1", 16, {1}, {1000, 3, 517}, 1, true, 0);
  add("page 16", 16, {1}, {1000, 3, 517}, 16, true, 3);
  add("page 256", 16, {1}, {1000, 3, 517}, 256, true, 0);
  add("edges", 16, {1}, {0, 1, 31, 32, 33, 63, 64, 65, 127, 128, 129, 0}, 64, true, 5);
  add("heads 1", 1, {1}, {700, 20}, 64, true, 0);
  add("heads 12", 12, {1}, {700, 20}, 64, true, 0);
  add("mtp 2", 16, {2}, {700, 20, 1, 0, 2}, 64, true, 4);
  add("mtp mixed", 16, {0, 1, 2, 4, 8, 3}, {700, 20, 1, 2, 130, 2000}, 16, true, 7);
  add("mtp not causal", 16, {2}, {700, 20, 1, 0}, 64, false, 4);
  add("heads 128", 128, {1}, {700, 20, 5000}, 64, true, 0);
  add("heads 128 long", 128, {1}, {8192, 64, 65, 127, 129}, 64, true, 0);
  add("heads 128 page 1", 128, {1}, {300, 0, 64, 1}, 1, true, 3);
  add("heads 128 ragged", 128, {1}, {512, 0, 64, 1, 1000, 1024, 128, 333, 31}, 16, true, 2);
  add("heads 128 page 32", 128, {1}, {700, 20, 5000, 32, 33, 0, 64, 96, 97}, 32, true, 0);
  add("heads 128 page 256", 128, {1}, {700, 20, 5000, 256, 257, 1}, 256, true, 5);
  add("heads 128 mtp", 128, {1, 4, 2}, {700, 20, 3001}, 64, true, 0);
  add("heads 48", 48, {1}, {700, 20, 5000, 0, 1, 65}, 64, true, 0);
  add("heads 64 page 8", 64, {1}, {700, 20, 5000, 0, 1, 65}, 8, true, 0);
  add("heads 96 mtp", 96, {3}, {700, 20, 1}, 64, true, 0);
  add("many short", 16, {1}, std::vector<int>(600, 7), 16, true, 0);
  std::vector<int> ragged;
  for (int i = 0; i < 150; ++i) ragged.push_back(i * i % 1777);
  add("many ragged", 16, {1}, ragged, 32, true, 0);
  add("few workers", 16, {1}, ragged, 32, true, 11);
  return cases;
}

int run_checks(const char* filter) {
  int failures = 0;
  for (const Problem& problem : check_cases()) {
    if (filter != nullptr && problem.name != filter) continue;
    const Bench bench(problem, 1, 7, true);
    bench.plan(nullptr);
    bench.decode(0, nullptr);
    check(hipDeviceSynchronize(), problem.name.c_str());
    const auto [error, lse] = bench.errors();
    const std::vector<std::uint16_t> first = bench.out();
    // The counters must be ready again without a new plan, and the result the same.
    bool repeats = true;
    for (int i = 0; i < 3; ++i) {
      bench.decode(0, nullptr);
      check(hipDeviceSynchronize(), problem.name.c_str());
      repeats = repeats && bench.out() == first;
    }
    const bool good = error < 6e-3 && lse < 2e-5 && repeats;
    failures += good ? 0 : 1;
    std::printf("%-6s %-16s %6s.%-6s out %.2e lse %.2e%s splits %d reductions %d error %d\n", good ? "ok" : "WRONG",
                problem.name.c_str(), name_of(problem.q).data(), name_of(problem.kv).data(), error, lse,
                repeats ? "" : " NOT REPEATABLE", bench.header().max_splits, bench.header().num_reductions,
                static_cast<int>(bench.header().error));
  }
  std::printf("%d wrong\n", failures);
  return failures == 0 ? 0 : 1;
}

// ---- time --------------------------------------------------------------------------------------------------------

double median_us(const Bench& bench, int sets, bool plan_inside) {
  hipStream_t stream;
  check(hipStreamCreateWithFlags(&stream, hipStreamNonBlocking), "stream");
  bench.plan(stream);
  const int launches = std::max(sets, bench.total_bytes() > (std::int64_t{1} << 30) ? 2 : 20);
  hipGraph_t graph;
  hipGraphExec_t executable;
  check(hipStreamBeginCapture(stream, hipStreamCaptureModeThreadLocal), "capture");
  for (int i = 0; i < launches; ++i) {
    if (plan_inside) bench.plan(stream);
    bench.decode(i % sets, stream);
  }
  check(hipStreamEndCapture(stream, &graph), "end capture");
  check(hipGraphInstantiateWithFlags(&executable, graph, 0), "instantiate");
  hipEvent_t start;
  hipEvent_t stop;
  check(hipEventCreate(&start), "event");
  check(hipEventCreate(&stop), "event");
  std::vector<double> times;
  for (int replay = -3; replay < 30; ++replay) {
    check(hipEventRecord(start, stream), "record");
    check(hipGraphLaunch(executable, stream), "graph");
    check(hipEventRecord(stop, stream), "record");
    check(hipEventSynchronize(stop), "replay");
    float ms = 0;
    check(hipEventElapsedTime(&ms, start, stop), "elapsed");
    if (replay >= 0) times.push_back(ms * 1e3 / launches);
  }
  std::nth_element(times.begin(), times.begin() + 15, times.end());
  (void)hipGraphExecDestroy(executable);
  (void)hipGraphDestroy(graph);
  (void)hipEventDestroy(start);
  (void)hipEventDestroy(stop);
  (void)hipStreamDestroy(stream);
  return times[15];
}

struct Row {
  const char* name;
  int heads;
  int q_len;
  int context;  // 0: the ragged batch
  int batch;
  DataType q;
  DataType kv;
  double best_peer_us;
};

std::vector<int> ragged_lengths() {
  std::mt19937_64 random(1);
  std::uniform_real_distribution<double> uniform(std::log(100.0), std::log(16384.0));
  std::vector<int> lengths(128);
  for (int& length : lengths) length = static_cast<int>(std::lround(std::exp(uniform(random))));
  return lengths;
}

int run_times(const char* filter, bool once) {
  constexpr DataType b = DataType::bf16;
  constexpr DataType f = DataType::e4m3fn;
  const Row rows[] = {
      {"floor: no query", 16, 0, 64, 1, b, b, 1},          {"floor: one tile", 16, 1, 32, 1, b, b, 1},
      {"floor: two tiles", 16, 1, 64, 1, b, b, 1},         {"h16 1k x 1", 16, 1, 1024, 1, b, b, 11.0},
      {"h16 4k x 1", 16, 1, 4096, 1, b, b, 15.5},          {"h16 4k x 16", 16, 1, 4096, 16, b, b, 28.6},
      {"h16 4k x 128", 16, 1, 4096, 128, b, b, 142},       {"h16 16k x 1", 16, 1, 16384, 1, b, b, 22.0},
      {"h16 16k x 64", 16, 1, 16384, 64, b, b, 282},       {"h16 64k x 1", 16, 1, 65536, 1, b, b, 38.1},
      {"h16 64k x 128", 16, 1, 65536, 128, b, b, 2181},    {"h16 ragged x 128", 16, 1, 0, 128, b, b, 107},
      {"h16 q2 4k x 128", 16, 2, 4096, 128, b, b, 144},    {"bf16.fp8 4k x 128", 16, 1, 4096, 128, b, f, 107},
      {"bf16.fp8 64k x 1", 16, 1, 65536, 1, b, f, 28.6},   {"fp8 4k x 128", 16, 1, 4096, 128, f, f, 107},
      {"fp8 64k x 1", 16, 1, 65536, 1, f, f, 28.6},        {"fp8 4k x 1", 16, 1, 4096, 1, f, f, 15.5},
      {"fp8 16k x 64", 16, 1, 16384, 64, f, f, 282},       {"fp8 ragged x 128", 16, 1, 0, 128, f, f, 107},
      {"h128 4k x 1", 128, 1, 4096, 1, b, b, 18.1},        {"h128 4k x 4", 128, 1, 4096, 4, b, b, 20.2},
      {"h128 4k x 16", 128, 1, 4096, 16, b, b, 42.9},      {"h128 4k x 128", 128, 1, 4096, 128, b, b, 224},
      {"h128 16k x 128", 128, 1, 16384, 128, b, b, 876},   {"h128 64k x 128", 128, 1, 65536, 128, b, b, 3805},
      {"h128 ragged x 128", 128, 1, 0, 128, b, b, 179},    {"h128 fp8 16k x 128", 128, 1, 16384, 128, f, f, 799},
      {"h128 fp8 4k x 1", 128, 1, 4096, 1, f, f, 18.1},    {"h128 fp8 4k x 16", 128, 1, 4096, 16, f, f, 42.9},
      {"h128 fp8 4k x 128", 128, 1, 4096, 128, f, f, 224}, {"h128 fp8 ragged x 128", 128, 1, 0, 128, f, f, 179},
      {"h64 fp8 4k x 128", 64, 1, 4096, 128, f, f, 224},   {"h16 q2 fp8 4k x 128", 16, 2, 4096, 128, f, f, 144},
  };
  std::printf("%-20s %9s %9s %7s %6s %6s %6s  %s\n", "shape", "us", "+plan us", "TB/s", "TF", "best", "ratio",
              "splits");
  for (const Row& row : rows) {
    if (filter != nullptr && std::strstr(row.name, filter) == nullptr) continue;
    Problem problem;
    problem.name = row.name;
    problem.heads = row.heads;
    problem.kv_len = row.context > 0 ? std::vector<int>(row.batch, row.context) : ragged_lengths();
    problem.q_len.assign(problem.kv_len.size(), row.q_len);
    problem.q = row.q;
    problem.kv = row.kv;
    const std::int64_t bytes =
        std::accumulate(problem.kv_len.begin(), problem.kv_len.end(), 0LL) * kHeadDim * size_in_bytes(row.kv);
    const int sets = static_cast<int>(std::clamp<std::int64_t>((std::int64_t{1} << 30) / bytes, 1, 400));
    const Bench bench(problem, sets, 3, false);
    if (once) {
      bench.plan(nullptr);
      for (int i = 0; i < 3; ++i) bench.decode(i % sets, nullptr);
      check(hipDeviceSynchronize(), "once");
      continue;
    }
    const double us = median_us(bench, sets, false);
    const double with_plan = median_us(bench, sets, true);
    const PlanHeader header = bench.header();
    std::printf("%-20s %9.2f %9.2f %7.2f %6.0f %6.1f %6.2f  %d/%d of %d\n", row.name, us, with_plan,
                bench.total_bytes() / us * 1e-6, bench.flops() / us * 1e-6, row.best_peer_us, us / row.best_peer_us,
                header.max_splits, header.num_reductions, header.busy_workers);
    std::fflush(stdout);
  }
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  const std::string mode = argc > 1 ? argv[1] : "check";
  if (mode == "check") return run_checks(argc > 2 ? argv[2] : nullptr);
  if (mode == "time" || mode == "once") return run_times(argc > 2 ? argv[2] : nullptr, mode == "once");
  std::fprintf(stderr, "usage: decode_gpu check [NAME] | time|once [FILTER]\n");
  return 4;
}
