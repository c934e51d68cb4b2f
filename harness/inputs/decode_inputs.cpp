#include "harness/inputs/decode_inputs.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <vector>

#include "harness/inputs/distribution.hpp"
#include "harness/inputs/poison.hpp"
#include "harness/inputs/random.hpp"

namespace mla::harness {

namespace {

// u of distribution.hpp: bit d of the request's direction is 1 where the component is +1.
class Direction {
 public:
  Direction(const Random& random, std::uint32_t request) {
    for (std::size_t i = 0; i < words_.size(); i += 4) {
      const auto bits = random.bits(Stream::direction, request, 0, static_cast<std::uint16_t>(i / 4));
      for (std::size_t j = 0; j < bits.size() && i + j < words_.size(); ++j) words_[i + j] = bits[j];
    }
  }
  [[nodiscard]] bool positive(int dim) const {
    return ((words_[static_cast<std::size_t>(dim) / 32] >> (dim % 32)) & 1U) != 0;
  }

 private:
  static_assert(kHeadDim % 32 == 0);
  std::array<std::uint32_t, kHeadDim / 32> words_{};
};

// The encoded value of amplitude * (N(0,1) + offset) / scale for every 16-bit random number: encoding each of 65536
// values once makes filling a table look-up, which matters for fp8.
template <class Element>
std::vector<Element> encoded_normals(double amplitude, double offset, double scale) {
  const auto normals = normal_quantiles();
  std::vector<Element> table(normals.size());
  std::transform(normals.begin(), normals.end(), table.begin(), [&](float normal) {
    const double value = amplitude * (static_cast<double>(normal) + offset) / scale;
    return Element::from_float(static_cast<float>(value));
  });
  return table;
}

// Marks elements that nobody may read. Their number is even, since all gaps and strides are.
template <class Element>
void fill_unreadable(Element* begin, std::int64_t elements, DataType type) {
  auto* const halves = static_cast<std::uint16_t*>(static_cast<void*>(begin));
  std::fill_n(halves, static_cast<std::size_t>(elements) * sizeof(Element) / 2, unreadable_pattern(type));
}

void arm_canaries(const DecodeInputBuffers& buffers) {
  for (const Buffer* buffer : buffers.all()) {
    arm_canary(*buffer);
  }
}

void fill_batch(const DecodeProblem& problem, const DecodeInputBuffers& buffers,
                const std::vector<std::int32_t>& pages) {
  auto* const qo_indptr = buffers.qo_indptr.as<std::int32_t>();
  auto* const kv_indptr = buffers.kv_indptr.as<std::int32_t>();
  auto* const last_page_len = buffers.kv_last_page_len.as<std::int32_t>();
  const std::int64_t page_size = problem.fields().page_size;
  qo_indptr[0] = 0;
  kv_indptr[0] = 0;
  for (int request = 0; request < problem.batch(); ++request) {
    const std::int64_t kv_pages = problem.kv_pages(request);
    qo_indptr[request + 1] = qo_indptr[request] + problem.q_len(request);
    kv_indptr[request + 1] = kv_indptr[request] + static_cast<std::int32_t>(kv_pages);
    // A request without pages has no last page: whatever stands there must be ignored, so both 0 and 1 occur.
    last_page_len[request] =
        kv_pages == 0 ? request % 2 : static_cast<std::int32_t>(problem.kv_len(request) - (kv_pages - 1) * page_size);
  }
  auto* const indices = buffers.kv_indices.as<std::int32_t>();
  auto* const spare = std::copy(pages.begin(), pages.end(), indices);
  std::fill(spare, indices + buffers.kv_indices.data().size() / sizeof(std::int32_t), kUnreadableIndex);
}

// Writes q; the gaps between heads and tokens become NaN.
template <class Element>
class QueryFiller {
 public:
  QueryFiller(const DecodeProblem& problem, const QueryView& view, Element* data)
      : problem_(problem),
        view_(view),
        data_(data),
        random_(problem.fields().seed),
        has_gaps_(view.token_stride != std::int64_t{problem.fields().heads} * kHeadDim),
        offset_(problem.fields().distribution == Distribution::needle ? 1 : 0),
        amplitude_(query_amplitude(problem)),
        negative_(encoded_normals<Element>(amplitude_, -offset_, problem.fields().q_scale)),
        positive_(encoded_normals<Element>(amplitude_, offset_, problem.fields().q_scale)) {}

  // Fills the rows of all heads of one token, `row` of the tensor and `token` of its request.
  void fill(std::int64_t row, int request, int token) const {
    Element* const begin = data_ + row * view_.token_stride;
    if (has_gaps_) fill_unreadable(begin, view_.token_stride, view_.dtype);
    const Direction direction(random_, static_cast<std::uint32_t>(request));
    Random::Row numbers;
    for (int head = 0; head < problem_.fields().heads; ++head) {
      // Independent of the number of heads: head 3 of 16 holds what head 3 of 128 does.
      const auto position = static_cast<std::uint64_t>(token) * kMaxHeads + static_cast<std::uint64_t>(head);
      random_.row(Stream::query, static_cast<std::uint32_t>(request), position, numbers);
      Element* const out = begin + head * view_.head_stride;
      for (int dim = 0; dim < kHeadDim; ++dim) {
        const auto& table = direction.positive(dim) ? positive_ : negative_;
        out[dim] = table[numbers[static_cast<std::size_t>(dim)]];
      }
    }
  }

 private:
  const DecodeProblem& problem_;
  const QueryView& view_;
  Element* data_;
  Random random_;
  bool has_gaps_;
  double offset_;
  double amplitude_;
  std::vector<Element> negative_;
  std::vector<Element> positive_;
};

template <class Element>
void fill_queries(const DecodeProblem& problem, const DecodeLayout& layout, const DecodeInputBuffers& buffers) {
  const DecodeInputs views = layout.bind(buffers);
  const QueryFiller<Element> filler(problem, views.q, buffers.q.as<Element>());
#pragma omp parallel for schedule(dynamic, 8)
  for (int request = 0; request < problem.batch(); ++request) {
    const std::int64_t first = views.batch.qo_indptr[request];
    for (int token = 0; token < problem.q_len(request); ++token) filler.fill(first + token, request, token);
  }
}

// Writes the tokens of pages in use; the tail of the last page and all gaps become NaN.
template <class Element>
class PageFiller {
 public:
  PageFiller(const DecodeProblem& problem, const PagedKvView& view, Element* data)
      : problem_(problem),
        view_(view),
        data_(data),
        random_(problem.fields().seed),
        normals_(encoded_normals<Element>(1, 0, problem.fields().kv_scale)) {}

  void fill_unreferenced(std::int64_t page) const { fill_unreadable(page_begin(page), view_.page_stride, view_.dtype); }

  // Fills physical page `page` with logical page `logical` of a request.
  void fill(std::int64_t page, int request, std::int64_t logical) const {
    const std::int64_t first = logical * view_.page_size;
    const std::int64_t tokens = std::min<std::int64_t>(view_.page_size, problem_.kv_len(request) - first);
    Element* row = page_begin(page);
    for (std::int64_t token = 0; token < tokens; ++token) {
      fill_token(row, request, first + token);
      fill_unreadable(row + kHeadDim, view_.token_stride - kHeadDim, view_.dtype);
      row += view_.token_stride;
    }
    fill_unreadable(row, view_.page_stride - tokens * view_.token_stride, view_.dtype);
  }

  // Overwrites one token of physical page `page` with a needle.
  void fill_needle(std::int64_t page, int request, std::int64_t position) const {
    const auto normals = normal_quantiles();
    const Direction direction(random_, static_cast<std::uint32_t>(request));
    const double amplitude = needle_amplitude(problem_.kv_len(request));
    Random::Row numbers;
    random_.row(Stream::key_value, static_cast<std::uint32_t>(request), static_cast<std::uint64_t>(position), numbers);
    Element* const row = page_begin(page) + position % view_.page_size * view_.token_stride;
    for (int dim = 0; dim < kHeadDim; ++dim) {
      const double noise = static_cast<double>(normals[numbers[static_cast<std::size_t>(dim)]]);
      const double value = noise + (direction.positive(dim) ? amplitude : -amplitude);
      row[dim] = Element::from_float(static_cast<float>(value / problem_.fields().kv_scale));
    }
  }

 private:
  [[nodiscard]] Element* page_begin(std::int64_t page) const { return data_ + page * view_.page_stride; }

  void fill_token(Element* row, int request, std::int64_t position) const {
    Random::Row numbers;
    random_.row(Stream::key_value, static_cast<std::uint32_t>(request), static_cast<std::uint64_t>(position), numbers);
    for (std::size_t dim = 0; dim < numbers.size(); ++dim) row[dim] = normals_[numbers[dim]];
  }

  const DecodeProblem& problem_;
  const PagedKvView& view_;
  Element* data_;
  Random random_;
  std::vector<Element> normals_;
};

template <class Element>
void fill_pool(const DecodeProblem& problem, const DecodeLayout& layout, const DecodeInputBuffers& buffers) {
  const DecodeInputs views = layout.bind(buffers);
  const PageFiller<Element> filler(problem, views.kv, buffers.kv.as<Element>());
  const std::int32_t* const indptr = views.batch.kv_indptr;
  const std::span<const std::int32_t> pages(views.batch.kv_indices, static_cast<std::size_t>(problem.total_pages()));
#pragma omp parallel for schedule(dynamic, 16)
  for (std::int64_t i = 0; i < std::ssize(pages); ++i) {
    const auto request = static_cast<int>(std::upper_bound(indptr, indptr + problem.batch() + 1, i) - indptr) - 1;
    filler.fill(pages[static_cast<std::size_t>(i)], request, i - indptr[request]);
  }
  if (problem.fields().distribution == Distribution::needle) {
#pragma omp parallel for schedule(dynamic, 1)
    for (int request = 0; request < problem.batch(); ++request) {
      for (const std::int64_t position : needle_positions(problem.kv_len(request), problem.q_len(request))) {
        const std::int64_t page = indptr[request] + position / views.kv.page_size;
        filler.fill_needle(pages[static_cast<std::size_t>(page)], request, position);
      }
    }
  }
  const auto unreferenced = unreferenced_pages(layout.pool(), pages);
#pragma omp parallel for schedule(dynamic, 16)
  for (const std::int32_t page : unreferenced) filler.fill_unreferenced(page);
}

// Calls `visit` with a value of the element type that `type` names.
template <class Visitor>
void with_element(DataType type, const Visitor& visit) {
  switch (type) {
    case DataType::bf16: return visit(Bfloat16{});
    case DataType::e4m3fn: return visit(Float8E4M3FN{});
    case DataType::e4m3fnuz: return visit(Float8E4M3FNUZ{});
    case DataType::f32: return;  // resolve() names no such operand
  }
}

}  // namespace

void fill_inputs(const DecodeProblem& problem, const DecodeLayout& layout, const DecodeInputBuffers& buffers) {
  arm_canaries(buffers);
  fill_batch(problem, buffers, choose_pages(layout.pool(), problem.total_pages(), problem.fields().seed));
  with_element(layout.q_type(), [&](auto element) { fill_queries<decltype(element)>(problem, layout, buffers); });
  with_element(layout.kv_type(), [&](auto element) { fill_pool<decltype(element)>(problem, layout, buffers); });
}

void poison_outputs(const DecodeOutputBuffers& buffers) {
  const auto fill = [](const Buffer& buffer, auto pattern) {
    std::fill_n(buffer.as<decltype(pattern)>(), buffer.data().size() / sizeof(pattern), pattern);
    arm_canary(buffer);
  };
  fill(buffers.out, kPoisonBfloat16);
  fill(buffers.lse, kPoisonFloat32);
}

}  // namespace mla::harness
