// Prints as JSON what the host launches each gfx kernel with, which the compiled kernel does not tell: its shared
// memory is dynamic. The constants are those that the launch itself uses.
#include <cxxabi.h>

#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>
#include <typeinfo>
#include <utility>

#include "kernels/arch/gfx942/arch.hpp"
#include "kernels/arch/gfx950/arch.hpp"
#include "kernels/ceilings/launches_of.hpp"
#include "kernels/decode/launch.hpp"
#include "kernels/merge/merge_kernel.hpp"
#include "kernels/plan/plan_kernel.hpp"

namespace {

using namespace mla;

// As the name of the kernel that runs it has it.
template <class Kernel>
std::string type_name() {
  int status = 0;
  const std::unique_ptr<char, decltype(&std::free)> name(
      abi::__cxa_demangle(typeid(Kernel).name(), nullptr, nullptr, &status), &std::free);
  return status == 0 ? name.get() : typeid(Kernel).name();
}

class Printer {
 public:
  Printer() { std::printf("[\n"); }
  Printer(const Printer&) = delete;
  Printer& operator=(const Printer&) = delete;
  ~Printer() { std::printf("\n]\n"); }

  template <class Arch, class Kernel>
  void print(const std::string& name) {
    std::printf("%s  {\"target\": \"%s\", \"name\": \"%s\", \"kernel\": \"%s\", \"threads\": %d, \"shared_bytes\": %d}",
                separator_, Arch::kName, name.c_str(), type_name<Kernel>().c_str(), Kernel::kThreads,
                Kernel::kSharedBytes);
    separator_ = ",\n";
  }

 private:
  const char* separator_ = "";
};

template <class Arch>
void print_target(Printer& printer) {
  printer.print<Arch, PlanKernel<Arch>>("plan");
  for (const auto& [q, kv] : {std::pair{DataType::bf16, DataType::bf16}, std::pair{DataType::bf16, Arch::kFp8},
                              std::pair{Arch::kFp8, Arch::kFp8}}) {
    for (const int rows : {16, 32, 64}) {
      const std::string types = std::string(name_of(q)) + "." + std::string(name_of(kv));
      visit_decode<Arch>(q, kv, rows, [&]<class Kernel>() {
        printer.print<Arch, Kernel>("decode." + types + "." + std::to_string(rows));
      });
    }
  }
  printer.print<Arch, MergeKernel<Arch, 16>>("merge.16");
  printer.print<Arch, MergeKernel<Arch, 32>>("merge.32");
  printer.print<Arch, MergeKernel<Arch, 64>>("merge.64");
  printer.print<Arch, ceilings::ReadKernel<Arch>>("ceiling.read");
  printer.print<Arch, ceilings::EmptyKernel<Arch>>("ceiling.empty");
  printer.print<Arch, typename ceilings::LaunchesOf<Arch>::MultiplyBf16>("ceiling.multiply.bf16");
  printer.print<Arch, typename ceilings::LaunchesOf<Arch>::MultiplyFp8>("ceiling.multiply.fp8");
}

}  // namespace

int main() {
  Printer printer;
  print_target<gfx942::Arch>(printer);
  print_target<gfx950::Arch>(printer);
}
