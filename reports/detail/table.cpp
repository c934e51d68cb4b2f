#include "reports/detail/table.hpp"

#include <algorithm>
#include <numeric>

#include <fmt/format.h>

#include "reports/detail/text.hpp"

namespace mla::reports::detail {
namespace {

constexpr std::size_t kGap = 2;
constexpr std::size_t kMinFirstColumn = 24;  // fewer would make different names look alike

}  // namespace

std::string inked(std::string_view text, Ink ink, bool colour) {
  if (!colour || ink == Ink::none) return std::string(text);
  const int code = ink == Ink::red ? 31 : ink == Ink::green ? 32 : 33;
  return fmt::format("\x1b[{}m{}\x1b[0m", code, text);
}

void Table::add(std::vector<std::string> cells, Ink ink, std::size_t inked_column) {
  for (std::string& cell : cells) cell = one_line(cell);
  cells.resize(columns_.size());
  rows_.push_back({std::move(cells), ink, inked_column});
}

Table::Widths Table::fit(std::size_t width) const {
  Widths widths;
  for (std::size_t c = 0; c < columns_.size(); ++c) {
    std::size_t widest = 0;
    for (const Row& row : rows_) widest = std::max(widest, row.cells[c].size());
    widths.of_column.push_back(widest == 0 ? 0 : std::max(widest, columns_[c].title.size()));
  }
  std::vector<std::size_t>& of = widths.of_column;
  const auto total = [&] {
    return std::accumulate(of.begin(), of.end(), std::size_t{0},
                           [](std::size_t sum, std::size_t w) { return w == 0 ? sum : sum + w + kGap; }) -
           kGap;
  };
  for (std::size_t last = of.size(); total() > width && last > 1; --last) {
    const std::size_t rest = total() - of[0];
    if (rest + std::min(of[0], kMinFirstColumn) <= width) {
      of[0] = std::min(of[0], width - rest);
      break;
    }
    of[last - 1] = 0;
  }
  of[0] = std::min(of[0], std::max(width, kMinFirstColumn));
  return widths;
}

void Table::append_row(std::string& text, const Row& row, const Widths& widths, bool colour) const {
  std::string line;
  for (std::size_t c = 0; c < columns_.size(); ++c) {
    const std::size_t width = widths.of_column[c];
    if (width == 0) continue;
    const std::string cell = shorten_middle(row.cells[c], width);
    const std::string padding(width - cell.size(), ' ');
    if (!line.empty()) line += std::string(kGap, ' ');
    const std::string shown = c == row.inked_column ? inked(cell, row.ink, colour) : cell;
    line += columns_[c].align == Align::left ? shown + padding : padding + shown;
  }
  line.erase(line.find_last_not_of(' ') + 1);
  text += line + '\n';
}

std::string Table::text(int width, bool colour) const {
  const Widths widths = fit(static_cast<std::size_t>(std::max(width, 1)));
  Row titles{{}, Ink::none, kNoColumn};
  for (const Column& column : columns_) titles.cells.push_back(column.title);
  std::string text;
  append_row(text, titles, widths, colour);
  for (const Row& row : rows_) append_row(text, row, widths, colour);
  return text;
}

}  // namespace mla::reports::detail
