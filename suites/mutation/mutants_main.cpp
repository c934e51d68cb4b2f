// The command line over the emulated kernels, sound and faulty.
#include "harness/cli/cli.hpp"
#include "suites/mutation/emulated_provider.hpp"

int main(int argc, char** argv) {
  return mla::harness::command_line(argc, argv, mla::mutation::emulated_providers());
}
