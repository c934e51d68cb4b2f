// The command line over the providers that fail on purpose.
#include "harness/cli/cli.hpp"
#include "suites/runner/faulty_providers.hpp"

int main(int argc, char** argv) {
  return mla::harness::command_line(argc, argv, mla::harness::faulty_providers());
}
