// A small decode problem with its own storage, built independently of the harness: paged, permuted, strided, and NaN
// wherever nothing may be read.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <numeric>
#include <random>
#include <span>
#include <utility>
#include <vector>

#include "mla/decode.hpp"
#include "reference/decode.hpp"

namespace mla::reference::test {

struct CaseSpec {
  int heads = 3;
  std::vector<int> q_lens = {1};
  std::vector<int> kv_lens = {17};
  int page_size = 4;
  DataType q_type = DataType::bf16;
  DataType kv_type = DataType::bf16;
  float q_scale = 1;
  float kv_scale = 1;
  float sm_scale = 0.1352338F;
  bool causal = true;
  bool padded = false;  // gaps of NaN between elements of every stride
  float amplitude = 1;  // standard deviation of the stored elements
  unsigned seed = 1;
};

/// Elements of a type chosen at run time.
class Elements {
 public:
  Elements(DataType type, std::size_t count)
      : type_(type), bytes_(count * static_cast<std::size_t>(size_in_bytes(type))) {
    for (std::size_t i = 0; i < count; ++i) set(i, std::numeric_limits<float>::quiet_NaN());
  }
  void set(std::size_t index, float value) {
    switch (type_) {
      case DataType::bf16: return store(index, Bfloat16::from_float(value));
      case DataType::e4m3fn: return store(index, Float8E4M3FN::from_float(value));
      case DataType::e4m3fnuz: return store(index, Float8E4M3FNUZ::from_float(value));
      case DataType::f32: return store(index, value);
    }
  }
  [[nodiscard]] float get(std::size_t index) const {
    switch (type_) {
      case DataType::bf16: return load<Bfloat16>(index).to_float();
      case DataType::e4m3fn: return load<Float8E4M3FN>(index).to_float();
      case DataType::e4m3fnuz: return load<Float8E4M3FNUZ>(index).to_float();
      case DataType::f32: return load<float>(index);
    }
    return 0;
  }
  [[nodiscard]] const void* data() const { return bytes_.data(); }

 private:
  template <class T>
  void store(std::size_t index, T value) {
    std::memcpy(bytes_.data() + index * sizeof(T), &value, sizeof(T));
  }
  template <class T>
  [[nodiscard]] T load(std::size_t index) const {
    T value;
    std::memcpy(&value, bytes_.data() + index * sizeof(T), sizeof(T));
    return value;
  }

  DataType type_;
  std::vector<std::byte> bytes_;
};

/// The tensors of a case. Element accessors take logical coordinates; `view` gives what an implementation sees.
class RaggedCase {
 public:
  explicit RaggedCase(CaseSpec spec)
      : spec_(std::move(spec)),
        q_head_stride_(kHeadDim + (spec_.padded ? 8 : 0)),
        q_token_stride_(q_head_stride_ * spec_.heads + (spec_.padded ? 24 : 0)),
        kv_token_stride_(kHeadDim + (spec_.padded ? 40 : 0)),
        kv_page_stride_(kv_token_stride_ * spec_.page_size + (spec_.padded ? 72 : 0)),
        q_(spec_.q_type, 0),
        kv_(spec_.kv_type, 0) {
    make_tables();
    q_ = Elements(spec_.q_type, static_cast<std::size_t>(total_q() * q_token_stride_));
    kv_ = Elements(spec_.kv_type, static_cast<std::size_t>(pool_pages_ * kv_page_stride_));
    std::mt19937 generator(spec_.seed);
    std::normal_distribution<float> normal(0, spec_.amplitude);
    for (int b = 0; b < batch(); ++b) {
      for (int i = 0; i < spec_.q_lens[at(b)]; ++i) {
        for (int h = 0; h < spec_.heads; ++h) {
          for (int d = 0; d < kHeadDim; ++d) set_q(b, i, h, d, normal(generator));
        }
      }
      for (int k = 0; k < spec_.kv_lens[at(b)]; ++k) {
        for (int d = 0; d < kHeadDim; ++d) set_kv(b, k, d, normal(generator));
      }
    }
  }

  [[nodiscard]] const CaseSpec& spec() const { return spec_; }
  [[nodiscard]] int batch() const { return static_cast<int>(spec_.q_lens.size()); }
  [[nodiscard]] std::int64_t total_q() const { return qo_indptr_.back(); }
  [[nodiscard]] int visible(int b, int i) const {
    const int kv = spec_.kv_lens[at(b)];
    return spec_.causal ? std::max(0, kv - spec_.q_lens[at(b)] + i + 1) : kv;
  }
  [[nodiscard]] std::int64_t row(int b, int i, int h) const { return (qo_indptr_[at(b)] + i) * spec_.heads + h; }

  // Stored values, before q_scale and kv_scale.
  void set_q(int b, int i, int h, int d, float value) { q_.set(q_index(b, i, h, d), value); }
  void set_kv(int b, int k, int d, float value) { kv_.set(kv_index(b, k, d), value); }
  [[nodiscard]] float q(int b, int i, int h, int d) const { return q_.get(q_index(b, i, h, d)); }
  [[nodiscard]] float kv(int b, int k, int d) const { return kv_.get(kv_index(b, k, d)); }

  [[nodiscard]] DecodeInputs view() const {
    DecodeInputs inputs;
    inputs.q = {q_.data(), spec_.q_type, q_token_stride_, q_head_stride_};
    inputs.kv = {kv_.data(), spec_.kv_type, kv_page_stride_, kv_token_stride_, pool_pages_, spec_.page_size};
    inputs.batch = {batch(), qo_indptr_.data(), kv_indptr_.data(), kv_indices_.data(), kv_last_page_len_.data()};
    inputs.heads = spec_.heads;
    inputs.causal = spec_.causal;
    inputs.sm_scale = spec_.sm_scale;
    inputs.q_scale = spec_.q_scale;
    inputs.kv_scale = spec_.kv_scale;
    return inputs;
  }

 private:
  static std::size_t at(int index) { return static_cast<std::size_t>(index); }

  void make_tables() {
    constexpr int spare_pages = 3;
    for (int b = 0; b < batch(); ++b) {
      const int kv = spec_.kv_lens[at(b)];
      const int pages = (kv + spec_.page_size - 1) / spec_.page_size;
      qo_indptr_.push_back(qo_indptr_.back() + spec_.q_lens[at(b)]);
      kv_indptr_.push_back(kv_indptr_.back() + pages);
      kv_last_page_len_.push_back(pages == 0 ? 1 : kv - (pages - 1) * spec_.page_size);
    }
    pool_pages_ = kv_indptr_.back() + spare_pages;
    kv_indices_.resize(at(static_cast<int>(pool_pages_)));
    std::iota(kv_indices_.begin(), kv_indices_.end(), 0);
    std::shuffle(kv_indices_.begin(), kv_indices_.end(), std::mt19937(spec_.seed + 1));
    // What lies behind the used part of the table is never a page number.
    std::fill(kv_indices_.begin() + kv_indptr_.back(), kv_indices_.end(), INT32_MAX);
  }
  [[nodiscard]] std::size_t q_index(int b, int i, int h, int d) const {
    return static_cast<std::size_t>((qo_indptr_[at(b)] + i) * q_token_stride_ + h * q_head_stride_ + d);
  }
  [[nodiscard]] std::size_t kv_index(int b, int k, int d) const {
    const std::int64_t page = kv_indices_[at(kv_indptr_[at(b)] + k / spec_.page_size)];
    return static_cast<std::size_t>(page * kv_page_stride_ + k % spec_.page_size * kv_token_stride_ + d);
  }

  CaseSpec spec_;
  std::int64_t q_head_stride_;
  std::int64_t q_token_stride_;
  std::int64_t kv_token_stride_;
  std::int64_t kv_page_stride_;
  std::int64_t pool_pages_ = 0;
  std::vector<std::int32_t> qo_indptr_ = {0};
  std::vector<std::int32_t> kv_indptr_ = {0};
  std::vector<std::int32_t> kv_indices_;
  std::vector<std::int32_t> kv_last_page_len_;
  Elements q_;
  Elements kv_;
};

/// An oracle with its own memory, filled with a byte pattern first so that what `decode` leaves out shows.
class OwnedOracle {
 public:
  OwnedOracle(std::int64_t tokens, int heads) : memory_(DecodeOracle::bytes(tokens, heads) / sizeof(Line) + 1) {
    std::memset(memory_.data(), 0xff, memory_.size() * sizeof(Line));
    oracle_ = DecodeOracle::over(bytes(), tokens, heads);
  }
  explicit OwnedOracle(const RaggedCase& c) : OwnedOracle(c.total_q(), c.spec().heads) { decode(c.view(), oracle_); }

  const DecodeOracle& operator*() const { return oracle_; }
  const DecodeOracle* operator->() const { return &oracle_; }
  [[nodiscard]] std::span<std::byte> bytes() { return std::as_writable_bytes(std::span(memory_)); }

 private:
  struct alignas(64) Line {
    std::byte bytes[64];
  };
  std::vector<Line> memory_;
  DecodeOracle oracle_;
};

}  // namespace mla::reference::test
