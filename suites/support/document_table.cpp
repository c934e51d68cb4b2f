#include "suites/support/document_table.hpp"

#include <cstdio>
#include <fstream>
#include <iterator>
#include <stdexcept>

#include <fmt/format.h>

namespace mla::test {
namespace {

std::string read(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) throw std::runtime_error("cannot read " + path);
  return {std::istreambuf_iterator<char>(file), {}};
}

void write(const std::string& path, const std::string& text) {
  std::ofstream file(path, std::ios::binary);
  if (!(file << text)) throw std::runtime_error("cannot write " + path);
}

// The document with what stands between the markers replaced.
std::string with_table(const TablePlace& place, const std::string& document, const std::string& table) {
  const std::string first = fmt::format("<!-- {}: begin, written by {} -->\n", place.name, place.program);
  const std::string last = fmt::format("<!-- {}: end -->\n", place.name);
  const std::size_t begin = document.find(first);
  const std::size_t end = document.find(last);
  if (begin == std::string::npos || end == std::string::npos || end < begin) {
    throw std::runtime_error(fmt::format("the document has no markers for the {}", place.name));
  }
  return document.substr(0, begin) + first + table + document.substr(end);
}

}  // namespace

int keep_table(const TablePlace& place, const std::string& table, const std::string& update, const std::string& check) {
  if (!update.empty()) write(update, with_table(place, read(update), table));
  if (check.empty() || with_table(place, read(check), table) == read(check)) return 0;
  fmt::print(stderr, "{}: the {} is not what it would be now; {} --update writes:\n{}", check, place.name,
             place.program, table);
  return 1;
}

}  // namespace mla::test
