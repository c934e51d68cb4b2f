#include "harness/checks/failure_text.hpp"

#include <algorithm>

#include <fmt/format.h>

namespace mla::harness::checks {

namespace {

// 1024 -> "1,024"
std::string grouped(std::int64_t number) {
  std::string text = fmt::to_string(number);
  for (std::ptrdiff_t at = std::ssize(text) - 3; at > 0; at -= 3) text.insert(static_cast<std::size_t>(at), ",");
  return text;
}

std::string counted(std::int64_t number, std::string_view noun) {
  return fmt::format("{} {}{}", grouped(number), noun, number == 1 ? "" : "s");
}

std::string element_text(const Element& element, const RowPlaces& places) {
  const std::string row = places.text(element.row);
  return element.dim ? fmt::format("{}, dim {}", row, *element.dim) : row;
}

std::string unwritten_text(const Tally& tally, TensorName name, const RowPlaces& places) {
  return fmt::format("{} of `{}` never written, first at {}", counted(tally.elements, "element"), name.tensor,
                     element_text(*tally.worst, places));
}

std::string nonfinite_text(const Tally& tally, TensorName name, const RowPlaces& places) {
  return fmt::format("`{}` is {} at {}, reference {:.6g}; {} in {}", name.tensor, tally.worst->got,
                     element_text(*tally.worst, places), tally.worst->ref, counted(tally.elements, "such element"),
                     counted(tally.rows, "row"));
}

std::string empty_row_text(const Tally& tally, TensorName name, const RowPlaces& places) {
  return fmt::format("`{}` is {:.6g} at {}, which sees no token and must hold {}; {} affected", name.tensor,
                     tally.worst->got, element_text(*tally.worst, places), tally.worst->ref,
                     counted(tally.rows, "row"));
}

std::string over_bound_text(const Tally& tally, TensorName name, std::int64_t rows, const RowPlaces& places) {
  const std::string excess = fmt::format("{:.3g}x", tally.worst->ratio);
  return fmt::format("{} bound exceeded {} at {}: got {:.6g}, reference {:.6g}; {} of {} affected", name.tier, excess,
                     element_text(*tally.worst, places), tally.worst->got, tally.worst->ref, grouped(tally.rows),
                     counted(rows, "row"));
}

}  // namespace

RowPlaces::RowPlaces(const DecodeProblem& problem) : heads_(problem.fields().heads) {
  std::int64_t first = 0;
  for (int request = 0; request < problem.batch(); ++request) {
    first_token_.push_back(first);
    first += problem.q_len(request);
  }
}

RowPlace RowPlaces::operator[](std::int64_t row) const {
  const std::int64_t token = row / heads_;
  const auto after = std::upper_bound(first_token_.begin(), first_token_.end(), token);
  return {static_cast<int>(after - first_token_.begin()) - 1, token, static_cast<int>(row % heads_)};
}

std::string RowPlaces::text(std::int64_t row) const {
  const RowPlace place = (*this)[row];
  return fmt::format("request {}, token {}, head {}", place.request, place.token, place.head);
}

std::optional<CheckFailure> canary_failure(const Buffer& buffer) {
  const CanaryDamage damage = check_canary(buffer);
  if (!damage.damaged) return std::nullopt;
  const bool before = damage.offset < 0;
  const std::int64_t offset = before ? damage.offset : damage.offset - std::ssize(buffer.data());
  return CheckFailure{"canary", fmt::format("canary {} `{}` overwritten at {:+} bytes", before ? "before" : "after",
                                            buffer.name, offset)};
}

std::optional<CheckFailure> gap_failure(const GapDamage& damage, std::string_view tensor, const RowPlaces& places) {
  if (damage.elements == 0) return std::nullopt;
  return CheckFailure{
      "gap_written", fmt::format("{} of `{}` written between rows, first after {}", counted(damage.elements, "element"),
                                 tensor, places.text(damage.first_row))};
}

std::optional<CheckFailure> fault_failure(Fault fault, const TensorFindings& findings, TensorName name,
                                          std::int64_t rows, const RowPlaces& places) {
  const Tally& tally = findings.tally(fault);
  if (tally.elements == 0) return std::nullopt;
  switch (fault) {
    case Fault::unwritten: return CheckFailure{"unwritten", unwritten_text(tally, name, places)};
    case Fault::nonfinite: return CheckFailure{"nonfinite", nonfinite_text(tally, name, places)};
    case Fault::empty_row: return CheckFailure{"empty_row", empty_row_text(tally, name, places)};
    case Fault::over_bound:
      return CheckFailure{fmt::format("{}_bound", name.tier), over_bound_text(tally, name, rows, places)};
    case Fault::none: break;
  }
  return std::nullopt;
}

}  // namespace mla::harness::checks
