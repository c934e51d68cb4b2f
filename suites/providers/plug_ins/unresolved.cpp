// A module that needs what the program does not have.
#include "harness/providers/plug_in.hpp"

void defined_nowhere(mla::harness::ProviderList& providers);

extern "C" const mla::harness::PlugIn mla_plug_in;
const mla::harness::PlugIn mla_plug_in = {mla::harness::kPlugInInterface, mla::harness::kPlugInCompiler,
                                          defined_nowhere};
