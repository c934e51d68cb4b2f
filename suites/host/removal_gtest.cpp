// Every barrier and every wait of the decode kernel is needed: without any one of them, results are wrong or differ
// from one order of the lanes to the next.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <mutex>
#include <set>
#include <source_location>
#include <string>
#include <vector>

#include "kernels/arch/cdna/describe.hpp"
#include "kernels/arch/gfx950/arch.hpp"
#include "kernels/plan/plan_kernel.hpp"
#include "suites/providers/decode_case.hpp"

namespace mla::test {
namespace {

// Where the kernel synchronises, and which of these places is left out.
struct Sites {
  std::mutex mutex;
  std::set<std::string> seen;
  std::string dropped;

  bool keeps(const char* kind, const std::source_location& where) {
    const std::string file = where.file_name();
    const std::string site =
        std::string(kind) + " " + file.substr(file.find_last_of('/') + 1) + ":" + std::to_string(where.line());
    const std::scoped_lock lock(mutex);
    seen.insert(site);
    return site != dropped;
  }
};

Sites& sites() {
  static Sites instance;
  return instance;
}

struct Arch : gfx950::Arch {
  static void barrier(const std::source_location& where = std::source_location::current()) {
    if (sites().keeps("barrier", where)) gfx950::Arch::barrier();
  }

  template <class Layout, int kRows>
  struct RowCopies : gfx950::Arch::RowCopies<Layout, kRows> {
    using Base = gfx950::Arch::RowCopies<Layout, kRows>;
    template <int kMost>
    static void await(int newer, const std::source_location& where = std::source_location::current()) {
      if (sites().keeps("wait", where)) Base::template await<kMost>(newer);
    }
  };
};

using Kernel = DecodeKernel<Arch, DataType::bf16, DataType::bf16, 16>;

// Output bytes of each of some orders of the lanes; a deadlock counts as an output of its own.
std::set<std::string> outputs_of_some_orders(const DecodeFixture& fixture) {
  const DecodeInputs inputs = fixture.inputs();
  const PlanLimits limits = [&] {
    PlanLimits l = cdna::limits_of(cdna::describe<gfx950::Arch>(1), inputs.q.dtype, inputs.kv.dtype, inputs.heads,
                                   inputs.batch.batch, 1, inputs.causal);
    l.num_workers = 1;
    return l;
  }();
  const WorkspaceLayout layout = workspace_layout(limits);
  const std::unique_ptr<std::byte[], void (*)(std::byte*)> workspace(
      static_cast<std::byte*>(::operator new[](layout.bytes, std::align_val_t{256})),
      [](std::byte* memory) { ::operator delete[](memory, std::align_val_t{256}); });
  const PlanView plan = bind_workspace(workspace.get(), layout);
  make_plan(plan_problem(limits, inputs.batch, inputs.kv.page_size), plan);
  std::set<std::string> outputs;
  for (std::uint64_t seed = 0; seed < 6; ++seed) {
    fixture.poison();
    host::LaunchOptions options;
    options.seed = seed;
    try {
      host::launch<Kernel>(1, decode_arguments(inputs, fixture.outputs(), plan), options);
      const std::vector<std::byte> bytes = fixture.output_bytes();
      outputs.emplace(reinterpret_cast<const char*>(bytes.data()), bytes.size());
    } catch (const host::ExecutionError& error) {
      outputs.insert(error.what());
    }
  }
  return outputs;
}

TEST(Removal, NoBarrierOrWaitOfTheDecodeKernelCanGo) {
  // Several works a worker, several tiles a work: every place in the loop matters only then.
  const DecodeFixture fixture("decode:h=16,b=3,kv=170+40+100,page=16");
  sites().dropped.clear();
  const std::set<std::string> clean = outputs_of_some_orders(fixture);
  ASSERT_EQ(clean.size(), 1U);
  const std::set<std::string> all = sites().seen;
  EXPECT_GE(all.size(), 6U);
  for (const std::string& site : all) {
    sites().dropped = site;
    EXPECT_NE(outputs_of_some_orders(fixture), clean) << "nothing changes without the " << site;
  }
  sites().dropped.clear();
  std::string list;
  for (const std::string& site : all) list += site + "; ";
  RecordProperty("sites", list);
}

}  // namespace
}  // namespace mla::test
