// A text table that fits a terminal: the first column gives way, by losing the middle of its text.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace mla::reports::detail {

enum class Align : std::uint8_t { left, right };
enum class Ink : std::uint8_t { none, red, green, yellow };

/// `text` in an ANSI colour where `colour` is on.
[[nodiscard]] std::string inked(std::string_view text, Ink ink, bool colour);

class Table {
 public:
  struct Column {
    std::string title;
    Align align = Align::left;
  };
  static constexpr std::size_t kNoColumn = static_cast<std::size_t>(-1);

  explicit Table(std::vector<Column> columns) : columns_(std::move(columns)) {}

  /// `cells` has as many entries as there are columns.
  void add(std::vector<std::string> cells, Ink ink = Ink::none, std::size_t inked_column = kNoColumn);
  [[nodiscard]] std::size_t rows() const { return rows_.size(); }

  /// The table in at most `width` characters a line where the first column can give way that far (to 24 characters);
  /// after that the last columns are left out. Columns without any text are left out in any case.
  [[nodiscard]] std::string text(int width, bool colour) const;

 private:
  struct Row {
    std::vector<std::string> cells;
    Ink ink;
    std::size_t inked_column;
  };
  struct Widths {
    std::vector<std::size_t> of_column;  // 0: left out
  };

  [[nodiscard]] Widths fit(std::size_t width) const;
  void append_row(std::string& text, const Row& row, const Widths& widths, bool colour) const;

  std::vector<Column> columns_;
  std::vector<Row> rows_;
};

}  // namespace mla::reports::detail
