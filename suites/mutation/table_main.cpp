// Writes the table of what catches what, or compares the one in a document with what it would be now.
#include <CLI/CLI.hpp>
#include <cstdio>
#include <fstream>
#include <string>

#include <fmt/format.h>

#include "suites/mutation/table.hpp"
#include "suites/support/document_table.hpp"

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
    if (!markdown.empty()) std::ofstream(markdown) << mla::mutation::variant_markdown(table);
    if (!json.empty()) std::ofstream(json) << mla::mutation::json_text(table);
    fmt::print("{}", families);
    return mla::test::keep_table({"mutation table", "mla.test.mutation.table"}, families, update, check);
  } catch (const std::exception& error) {
    fmt::print(stderr, "{}\n", error.what());
    return 1;
  }
}
