// A module of another version of the program: what it would add must not be called.
#include <cstdlib>

#include "harness/providers/plug_in.hpp"

extern "C" const mla::harness::PlugIn mla_plug_in;
const mla::harness::PlugIn mla_plug_in = {"0123456789abcdef", mla::harness::kPlugInCompiler,
                                          [](mla::harness::ProviderList&) { std::abort(); }};
