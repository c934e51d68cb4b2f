// Rows of one shape as columns, which a page of thousands of rows holds in a fraction of the text.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "reports/report.hpp"

namespace mla::reports {

/// Collects rows; a value that a row does not set is null.
class Columns {
 public:
  /// Begins the next row.
  void row() { ++rows_; }
  void set(std::string_view name, Json value);

  /// {"rows": n, "columns": {name: column, ...}}. A column is the array of its values; or {"all": value} where they are
  /// equal; or {"of": [distinct values], "at": [index into them, one a row]} where that is shorter.
  [[nodiscard]] Json take() const;

 private:
  struct Column {
    std::string name;
    std::vector<Json> values;
  };
  std::size_t rows_ = 0;
  std::vector<Column> columns_;
};

/// RFC 4648 with padding.
[[nodiscard]] std::string base64(std::span<const unsigned char> bytes);

}  // namespace mla::reports
