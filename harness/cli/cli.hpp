// The command line of `mla-harness`.
#pragma once

#include "harness/providers/provider.hpp"

namespace mla::harness {

/// Parses and runs; returns the process's exit code (see ExitCode). Errors are one line on standard error.
[[nodiscard]] int command_line(int argc, char** argv, const ProviderList& providers);

}  // namespace mla::harness
