// A table in a document that a program writes, and a test that it is still what the program would write.
#pragma once

#include <string>
#include <string_view>

namespace mla::test {

/// Where a table stands: between `<!-- NAME: begin, written by PROGRAM -->` and `<!-- NAME: end -->`.
struct TablePlace {
  std::string_view name;
  std::string_view program;
};

/// Puts `table` into the document where `update` names one, and compares it with the one in the document that `check`
/// names; either may be empty. Returns the program's exit status. Throws std::runtime_error on a document without the
/// place.
[[nodiscard]] int keep_table(const TablePlace& place, const std::string& table, const std::string& update,
                             const std::string& check);

}  // namespace mla::test
