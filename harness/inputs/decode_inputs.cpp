#include "harness/inputs/decode_inputs.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <optional>
#include <span>
#include <vector>

#include "harness/inputs/distribution.hpp"
#include "harness/inputs/element.hpp"
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

// The encoded value of amplitude * (quantile + offset) / scale for every 16-bit random number: encoding each of 65536
// values once makes filling a table look-up, which matters for fp8.
template <class Element>
std::vector<Element> encoded(std::span<const float> quantiles, double amplitude, double offset, double scale) {
  std::vector<Element> table(quantiles.size());
  std::transform(quantiles.begin(), quantiles.end(), table.begin(), [&](float quantile) {
    const double value = amplitude * (static_cast<double>(quantile) + offset) / scale;
    return Element::from_float(static_cast<float>(value));
  });
  return table;
}

// Marks elements that nobody may read. Their number is even, since all gaps and strides are.
template <class Element>
void fill_unreadable(Element* begin, std::int64_t elements, std::uint16_t pattern) {
  auto* const halves = static_cast<std::uint16_t*>(static_cast<void*>(begin));
  std::fill_n(halves, static_cast<std::size_t>(elements) * sizeof(Element) / 2, pattern);
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

// Writes q; the gaps between heads and tokens become unreadable.
template <class Element>
class QueryFiller {
 public:
  QueryFiller(const DecodeProblem& problem, const QueryView& view, Element* data, Unreadable unreadable)
      : problem_(problem),
        view_(view),
        data_(data),
        unreadable_(unreadable_pattern(view.dtype, unreadable)),
        random_(problem.fields().seed),
        has_gaps_(view.token_stride != std::int64_t{problem.fields().heads} * kHeadDim),
        offset_(has_direction(problem.fields().distribution) ? 1 : 0),
        amplitude_(query_amplitude(problem)),
        negative_(encoded<Element>(normal_quantiles(), amplitude_, -offset_, problem.fields().q_scale)),
        positive_(encoded<Element>(normal_quantiles(), amplitude_, offset_, problem.fields().q_scale)) {}

  // Fills the rows of all heads of one token, `row` of the tensor and `token` of its request.
  void fill(std::int64_t row, int request, int token) const {
    Element* const begin = data_ + row * view_.token_stride;
    if (has_gaps_) fill_unreadable(begin, view_.token_stride, unreadable_);
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
  std::uint16_t unreadable_;
  Random random_;
  bool has_gaps_;
  double offset_;
  double amplitude_;
  std::vector<Element> negative_;
  std::vector<Element> positive_;
};

template <class Element>
void fill_queries(const DecodeProblem& problem, const DecodeLayout& layout, const DecodeInputBuffers& buffers,
                  Unreadable unreadable) {
  const DecodeInputs views = layout.bind(buffers);
  const QueryFiller<Element> filler(problem, views.q, buffers.q.as<Element>(), unreadable);
#pragma omp parallel for schedule(dynamic, 8)
  for (int request = 0; request < problem.batch(); ++request) {
    const std::int64_t first = views.batch.qo_indptr[request];
    for (int token = 0; token < problem.q_len(request); ++token) filler.fill(first + token, request, token);
  }
}

// Writes the tokens of pages in use; the tail of the last page and all gaps become unreadable.
template <class Element>
class PageFiller {
 public:
  PageFiller(const DecodeProblem& problem, const PagedKvView& view, Element* data, Unreadable unreadable)
      : problem_(problem),
        view_(view),
        data_(data),
        unreadable_(unreadable_pattern(view.dtype, unreadable)),
        random_(problem.fields().seed),
        quantiles_(problem.fields().distribution == Distribution::heavy ? heavy_tailed_quantiles()
                                                                        : normal_quantiles()),
        weights_(channel_weights(problem)),
        ordinary_(ordinary_token(problem.fields().distribution)) {
    if (ordinary_) encode_channels();
  }

  void fill_unreferenced(std::int64_t page) const { fill_unreadable(page_begin(page), view_.page_stride, unreadable_); }

  // Fills physical page `page` with logical page `logical` of a request.
  void fill(std::int64_t page, int request, std::int64_t logical) const {
    const std::int64_t first = logical * view_.page_size;
    const std::int64_t tokens = std::min<std::int64_t>(view_.page_size, problem_.kv_len(request) - first);
    Element* row = page_begin(page);
    for (std::int64_t token = 0; token < tokens; ++token) {
      if (ordinary_) {
        fill_ordinary(row, request, first + token);
      } else {
        fill_shaped(row, request, first + token);
      }
      fill_unreadable(row + kHeadDim, view_.token_stride - kHeadDim, unreadable_);
      row += view_.token_stride;
    }
    fill_unreadable(row, view_.page_stride - tokens * view_.token_stride, unreadable_);
  }

  // Overwrites one token of physical page `page` with a special one.
  void fill_special(std::int64_t page, int request, std::int64_t position) const {
    fill_shaped(page_begin(page) + position % view_.page_size * view_.token_stride, request, position);
  }

 private:
  [[nodiscard]] Element* page_begin(std::int64_t page) const { return data_ + page * view_.page_stride; }

  // One table for each weight that occurs, of which there are two at most.
  void encode_channels() {
    std::vector<double> known;
    for (std::size_t dim = 0; dim < weights_.size(); ++dim) {
      const auto at = std::find(known.begin(), known.end(), weights_[dim]);
      table_of_[dim] = static_cast<std::uint8_t>(at - known.begin());
      if (at != known.end()) continue;
      known.push_back(weights_[dim]);
      tables_.push_back(encoded<Element>(quantiles_, weights_[dim] * ordinary_->noise, 0, problem_.fields().kv_scale));
    }
  }

  void fill_ordinary(Element* row, int request, std::int64_t position) const {
    Random::Row numbers;
    random_.row(Stream::key_value, static_cast<std::uint32_t>(request), static_cast<std::uint64_t>(position), numbers);
    if (tables_.size() == 1) {
      const auto& table = tables_.front();
      for (std::size_t dim = 0; dim < numbers.size(); ++dim) row[dim] = table[numbers[dim]];
    } else {
      for (std::size_t dim = 0; dim < numbers.size(); ++dim) row[dim] = tables_[table_of_[dim]][numbers[dim]];
    }
  }

  void fill_shaped(Element* row, int request, std::int64_t position) const {
    const Direction direction(random_, static_cast<std::uint32_t>(request));
    const TokenShape shape =
        token_shape(problem_.fields().distribution, position, problem_.kv_len(request), problem_.q_len(request));
    Random::Row numbers;
    random_.row(Stream::key_value, static_cast<std::uint32_t>(request), static_cast<std::uint64_t>(position), numbers);
    for (int dim = 0; dim < kHeadDim; ++dim) {
      const auto d = static_cast<std::size_t>(dim);
      const double noise = shape.noise * static_cast<double>(quantiles_[numbers[d]]);
      const double value = weights_[d] * (noise + (direction.positive(dim) ? shape.along : -shape.along));
      row[dim] = Element::from_float(static_cast<float>(value / problem_.fields().kv_scale));
    }
  }

  const DecodeProblem& problem_;
  const PagedKvView& view_;
  Element* data_;
  std::uint16_t unreadable_;
  Random random_;
  std::span<const float> quantiles_;
  std::array<double, kHeadDim> weights_;
  std::optional<TokenShape> ordinary_;
  std::vector<std::vector<Element>> tables_;
  std::array<std::uint8_t, kHeadDim> table_of_{};
};

template <class Element>
void fill_pool(const DecodeProblem& problem, const DecodeLayout& layout, const DecodeInputBuffers& buffers,
               Unreadable unreadable) {
  const DecodeInputs views = layout.bind(buffers);
  const PageFiller<Element> filler(problem, views.kv, buffers.kv.as<Element>(), unreadable);
  const std::int32_t* const indptr = views.batch.kv_indptr;
  const std::span<const std::int32_t> pages(views.batch.kv_indices, static_cast<std::size_t>(problem.total_pages()));
#pragma omp parallel for schedule(dynamic, 16)
  for (std::int64_t i = 0; i < std::ssize(pages); ++i) {
    const auto request = static_cast<int>(std::upper_bound(indptr, indptr + problem.batch() + 1, i) - indptr) - 1;
    filler.fill(pages[static_cast<std::size_t>(i)], request, i - indptr[request]);
  }
#pragma omp parallel for schedule(dynamic, 1)
  for (int request = 0; request < problem.batch(); ++request) {
    for (const std::int64_t position :
         special_positions(problem.fields().distribution, problem.kv_len(request), problem.q_len(request))) {
      const std::int64_t page = indptr[request] + position / views.kv.page_size;
      filler.fill_special(pages[static_cast<std::size_t>(page)], request, position);
    }
  }
  const auto unreferenced = unreferenced_pages(layout.pool(), pages);
#pragma omp parallel for schedule(dynamic, 16)
  for (const std::int32_t page : unreferenced) filler.fill_unreferenced(page);
}

}  // namespace

void fill_inputs(const DecodeProblem& problem, const DecodeLayout& layout, const DecodeInputBuffers& buffers,
                 Unreadable unreadable) {
  arm_canaries(buffers);
  fill_batch(problem, buffers, choose_pages(layout.pool(), problem.total_pages(), problem.fields().seed));
  visit_element(layout.q_type(), [&]<class Element>() { fill_queries<Element>(problem, layout, buffers, unreadable); });
  visit_element(layout.kv_type(), [&]<class Element>() { fill_pool<Element>(problem, layout, buffers, unreadable); });
}

void poison_outputs(const DecodeOutputBuffers& buffers, Poison poison) {
  const auto fill = [](const Buffer& buffer, auto pattern) {
    std::fill_n(buffer.as<decltype(pattern)>(), buffer.data().size() / sizeof(pattern), pattern);
    arm_canary(buffer);
  };
  fill(buffers.out, poison_bfloat16(poison));
  fill(buffers.lse, poison_float32(poison));
}

}  // namespace mla::harness
