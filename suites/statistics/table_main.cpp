// Writes the table of rules on simulated machines, or compares the one in a document with what it would be now.
#include <CLI/CLI.hpp>
#include <cstdio>
#include <string>

#include <fmt/format.h>

#include "suites/statistics/simulation.hpp"
#include "suites/support/document_table.hpp"

int main(int argc, char** argv) {
  CLI::App app{"Which cases became slower? Rules of public tools and of this project on simulated machines"};
  int rounds = 4;
  std::string update;
  std::string check;
  app.add_option("--rounds", rounds, "Comparisons of 300 cases to average over; a document's table has 4")
      ->check(CLI::Range(1, 10000));
  app.add_option("--update", update, "Replace the table between the markers of a document");
  app.add_option("--check", check, "Fail unless the table in a document is what --update would write");
  CLI11_PARSE(app, argc, argv);
  try {
    const std::string table = mla::suites::simulation_table(rounds);
    fmt::print("{}", table);
    return mla::test::keep_table({"simulation table", "mla.test.statistics.table"}, table, update, check);
  } catch (const std::exception& error) {
    fmt::print(stderr, "{}\n", error.what());
    return 1;
  }
}
