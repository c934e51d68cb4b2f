#include "harness/cli/cli.hpp"
#include "harness/providers/registry.hpp"

int main(int argc, char** argv) {
  const auto providers = mla::harness::builtin_providers();
  return mla::harness::command_line(argc, argv, providers);
}
