// Writes the table of what catches what, or compares the one in a document with what it would be now.
#include <CLI/CLI.hpp>
#include <cstdio>
#include <fstream>
#include <iterator>
#include <string>

#include <fmt/format.h>

#include "suites/mutation/table.hpp"

namespace {

constexpr std::string_view kBegin = "<!-- mutation table: begin, written by mla.test.mutation.table -->\n";
constexpr std::string_view kEnd = "<!-- mutation table: end -->\n";

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
std::string with_table(const std::string& document, const std::string& table) {
  const std::size_t begin = document.find(kBegin);
  const std::size_t end = document.find(kEnd);
  if (begin == std::string::npos || end == std::string::npos || end < begin) {
    throw std::runtime_error("the document has no markers for the table");
  }
  return document.substr(0, begin) + std::string(kBegin) + table + document.substr(end);
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app{"What catches what: every planted fault against the rules of public test suites and against ours"};
  std::string markdown;
  std::string json;
  std::string update;
  std::string check;
  app.add_option("--markdown", markdown, "Write a row a variant");
  app.add_option("--json", json, "Write the same as JSON");
  app.add_option("--update", update, "Replace the table, a row a family, between the markers of a document");
  app.add_option("--check", check, "Fail unless the table in a document is what --update would write");
  CLI11_PARSE(app, argc, argv);
  try {
    const mla::mutation::Table table = mla::mutation::make_table();
    const std::string families = mla::mutation::family_markdown(table);
    if (!markdown.empty()) write(markdown, mla::mutation::variant_markdown(table));
    if (!json.empty()) write(json, mla::mutation::json_text(table));
    if (!update.empty()) write(update, with_table(read(update), families));
    if (!check.empty() && with_table(read(check), families) != read(check)) {
      fmt::print(stderr, "{}: the table is not what it would be now; mla.test.mutation.table --update writes:\n{}",
                 check, families);
      return 1;
    }
    fmt::print("{}", families);
    return 0;
  } catch (const std::exception& error) {
    fmt::print(stderr, "{}\n", error.what());
    return 1;
  }
}
