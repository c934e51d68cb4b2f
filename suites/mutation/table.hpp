// What catches what: every fault against the rules of public test suites and against the checks of this project.
#pragma once

#include <string>
#include <vector>

#include "suites/mutation/fault.hpp"

namespace mla::mutation {

/// One fault, and who noticed.
struct TableRow {
  Fault fault;
  std::string dtype;  // of the problem: bf16, or fp8 where the fault needs a scale
  /// For each rule of foreign_rules(): on data as the suite itself draws it (N(0,1); FlashMLA: N(0,1)/10), and on any
  /// of randn, sharp, needle and sink. Empty where such a rule cannot apply: no rule repeats or looks beyond the
  /// output.
  std::vector<bool> on_own_data;
  std::vector<bool> on_our_data;
  /// Names of the checks of this project that noticed, on any distribution.
  std::vector<std::string> ours;
};

struct Table {
  std::string problem;         // all but the contents
  std::vector<TableRow> rows;  // the clean kernel first, whose catches are false alarms
};

/// Runs every fault at 4090 tokens and 64 heads. Takes a minute or so.
[[nodiscard]] Table make_table();

/// A row a family, for the README: how many of its variants each rule catches.
[[nodiscard]] std::string family_markdown(const Table& table);
/// A row a variant.
[[nodiscard]] std::string variant_markdown(const Table& table);
[[nodiscard]] std::string json_text(const Table& table);

}  // namespace mla::mutation
