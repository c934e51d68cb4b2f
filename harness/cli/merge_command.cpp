#include <fmt/format.h>

#include <memory>
#include <string>
#include <vector>

#include "harness/cli/command.hpp"
#include "reports/load.hpp"
#include "reports/merge.hpp"
#include "reports/write.hpp"

namespace mla::harness {

namespace {

void merge_shards(const std::vector<std::string>& paths, const std::string& out) {
  std::vector<reports::Shard> shards;
  for (const std::string& path : paths) shards.push_back({path, reports::load_report(path)});
  const reports::Json whole = reports::merge(shards);
  reports::write_report(out, whole);
  fmt::print("{} shards, {} cases: {}\n", shards.size(), whole.at("cases").size(), out);
}

}  // namespace

void add_merge(CLI::App& app, CommandContext&) {
  struct Arguments {
    std::vector<std::string> shards;
    std::string out;
  };
  const auto arguments = std::make_shared<Arguments>();
  CLI::App* command = app.add_subcommand("merge", "Put the shards of one run together into one report");
  command->add_option("shards", arguments->shards, "Reports of all shards of one run")->required();
  command->add_option("--out", arguments->out, "Report of the whole run")->required();
  command->callback([arguments] { merge_shards(arguments->shards, arguments->out); });
}

}  // namespace mla::harness
