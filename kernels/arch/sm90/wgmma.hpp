// Warpgroup matrix products of Hopper (wgmma), m64, float32 accumulators. Operands are bf16, or f16, which holds every
// e4m3 value exactly.
//
// Operands in shared memory are in the 128-byte swizzle: rows of 128 bytes (64 elements), row r's 16-byte unit c at
// unit c ^ (r % 8), eight rows to 1024 bytes, every block of rows beginning at a multiple of 1024 bytes.
#pragma once

#include <cstdint>

#include "kernels/arch/sm90/instructions.hpp"

namespace mla::sm90 {

/// Byte offset of 16-byte unit `unit` of row `row` of a swizzled block.
MLA_HOST_DEVICE constexpr int swizzled(int row, int unit) {
  return row * 128 + (unit ^ (row % 8)) * 16;
}

/// Describes an operand whose rows run along the other dimension than k (q, P, and KV as keys): the products step along
/// k by adding 32 bytes.
MLA_DEVICE std::uint64_t rows_descriptor(std::uint32_t address) {
  constexpr std::uint64_t kSwizzle128 = std::uint64_t{1} << 62;
  return kSwizzle128 | std::uint64_t{1024 / 16} << 32 | std::uint64_t{1} << 16 | (address & 0x3ffffU) >> 4;
}

/// Describes an operand whose rows run along k (KV as values: rows are tokens): `stride` bytes from one block of 64
/// columns to the next; the products step along k by adding 16 rows, 2048 bytes.
MLA_DEVICE std::uint64_t columns_descriptor(std::uint32_t address, std::uint32_t stride) {
  constexpr std::uint64_t kSwizzle128 = std::uint64_t{1} << 62;
  return kSwizzle128 | std::uint64_t{1024 / 16} << 32 | std::uint64_t{stride / 16} << 16 | (address & 0x3ffffU) >> 4;
}

MLA_DEVICE void wgmma_fence() {
  asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
}
MLA_DEVICE void wgmma_commit() {
  asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
}
template <int kPending>
MLA_DEVICE void wgmma_wait() {
  asm volatile("wgmma.wait_group.sync.aligned %0;" ::"n"(kPending) : "memory");
}

/// All lanes of one warpgroup.
template <int kId>
MLA_DEVICE void warpgroup_barrier() {
  asm volatile("barrier.cta.sync %0, 128;" ::"n"(kId) : "memory");
}

// An asm statement takes its text and its operands as literals only, so the lists of 32, 64 and 128 accumulators,
// each the one of half its length and the rest, and what differs by the operands' type, are macros of this file.
#define MLA_NUMBERS_32                                                     \
  "%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, " \
  "%16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31"
#define MLA_ACCUMULATOR_OPERANDS_32(d)                                                                        \
  "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3]), "+f"(d[4]), "+f"(d[5]), "+f"(d[6]), "+f"(d[7]), "+f"(d[8]), \
      "+f"(d[9]), "+f"(d[10]), "+f"(d[11]), "+f"(d[12]), "+f"(d[13]), "+f"(d[14]), "+f"(d[15]), "+f"(d[16]),  \
      "+f"(d[17]), "+f"(d[18]), "+f"(d[19]), "+f"(d[20]), "+f"(d[21]), "+f"(d[22]), "+f"(d[23]), "+f"(d[24]), \
      "+f"(d[25]), "+f"(d[26]), "+f"(d[27]), "+f"(d[28]), "+f"(d[29]), "+f"(d[30]), "+f"(d[31])
#define MLA_NUMBERS_64                                                               \
  MLA_NUMBERS_32                                                                     \
  ", "                                                                               \
  "%32, %33, %34, %35, %36, %37, %38, %39, %40, %41, %42, %43, %44, %45, %46, %47, " \
  "%48, %49, %50, %51, %52, %53, %54, %55, %56, %57, %58, %59, %60, %61, %62, %63"
#define MLA_ACCUMULATOR_OPERANDS_64(d)                                                                          \
  MLA_ACCUMULATOR_OPERANDS_32(d), "+f"(d[32]), "+f"(d[33]), "+f"(d[34]), "+f"(d[35]), "+f"(d[36]), "+f"(d[37]), \
      "+f"(d[38]), "+f"(d[39]), "+f"(d[40]), "+f"(d[41]), "+f"(d[42]), "+f"(d[43]), "+f"(d[44]), "+f"(d[45]),   \
      "+f"(d[46]), "+f"(d[47]), "+f"(d[48]), "+f"(d[49]), "+f"(d[50]), "+f"(d[51]), "+f"(d[52]), "+f"(d[53]),   \
      "+f"(d[54]), "+f"(d[55]), "+f"(d[56]), "+f"(d[57]), "+f"(d[58]), "+f"(d[59]), "+f"(d[60]), "+f"(d[61]),   \
      "+f"(d[62]), "+f"(d[63])
#define MLA_NUMBERS_128                                                                          \
  MLA_NUMBERS_64                                                                                 \
  ", "                                                                                           \
  "%64, %65, %66, %67, %68, %69, %70, %71, %72, %73, %74, %75, %76, %77, %78, %79, "             \
  "%80, %81, %82, %83, %84, %85, %86, %87, %88, %89, %90, %91, %92, %93, %94, %95, "             \
  "%96, %97, %98, %99, %100, %101, %102, %103, %104, %105, %106, %107, %108, %109, %110, %111, " \
  "%112, %113, %114, %115, %116, %117, %118, %119, %120, %121, %122, %123, %124, %125, %126, %127"
#define MLA_ACCUMULATOR_OPERANDS_128(d)                                                                               \
  MLA_ACCUMULATOR_OPERANDS_64(d), "+f"(d[64]), "+f"(d[65]), "+f"(d[66]), "+f"(d[67]), "+f"(d[68]), "+f"(d[69]),       \
      "+f"(d[70]), "+f"(d[71]), "+f"(d[72]), "+f"(d[73]), "+f"(d[74]), "+f"(d[75]), "+f"(d[76]), "+f"(d[77]),         \
      "+f"(d[78]), "+f"(d[79]), "+f"(d[80]), "+f"(d[81]), "+f"(d[82]), "+f"(d[83]), "+f"(d[84]), "+f"(d[85]),         \
      "+f"(d[86]), "+f"(d[87]), "+f"(d[88]), "+f"(d[89]), "+f"(d[90]), "+f"(d[91]), "+f"(d[92]), "+f"(d[93]),         \
      "+f"(d[94]), "+f"(d[95]), "+f"(d[96]), "+f"(d[97]), "+f"(d[98]), "+f"(d[99]), "+f"(d[100]), "+f"(d[101]),       \
      "+f"(d[102]), "+f"(d[103]), "+f"(d[104]), "+f"(d[105]), "+f"(d[106]), "+f"(d[107]), "+f"(d[108]), "+f"(d[109]), \
      "+f"(d[110]), "+f"(d[111]), "+f"(d[112]), "+f"(d[113]), "+f"(d[114]), "+f"(d[115]), "+f"(d[116]), "+f"(d[117]), \
      "+f"(d[118]), "+f"(d[119]), "+f"(d[120]), "+f"(d[121]), "+f"(d[122]), "+f"(d[123]), "+f"(d[124]), "+f"(d[125]), \
      "+f"(d[126]), "+f"(d[127])
#define MLA_ACCUMULATORS_32 "{" MLA_NUMBERS_32 "}, "
#define MLA_ACCUMULATORS_64 "{" MLA_NUMBERS_64 "}, "
#define MLA_ACCUMULATORS_128 "{" MLA_NUMBERS_128 "}, "
#define MLA_WGMMA(shape, type, size, arguments, ...)                                                                 \
  asm volatile("wgmma.mma_async.sync.aligned." shape ".f32." type "." type " " MLA_ACCUMULATORS_##size arguments ";" \
               : MLA_ACCUMULATOR_OPERANDS_##size(d)                                                                  \
               : __VA_ARGS__)

/// d[64x64] (+)= a[64x16] b[64x16]^T, both by rows_descriptor.
MLA_DEVICE void wgmma_scores(float (&d)[32], std::uint64_t a, std::uint64_t b, bool accumulate) {
  asm volatile(
      "{.reg .pred p; setp.ne.b32 p, %34, 0;\n"
      "wgmma.mma_async.sync.aligned.m64n64k16.f32.bf16.bf16 " MLA_ACCUMULATORS_32 "%32, %33, p, 1, 1, 0, 0;}"
      : MLA_ACCUMULATOR_OPERANDS_32(d)
      : "l"(a), "l"(b), "r"(static_cast<int>(accumulate)));
}
/// The same of f16, a from registers: of each wave's 16 rows as in mma_f16.
MLA_DEVICE void wgmma_scores(float (&d)[32], const std::uint32_t (&a)[4], std::uint64_t b, bool accumulate) {
  asm volatile(
      "{.reg .pred p; setp.ne.b32 p, %37, 0;\n"
      "wgmma.mma_async.sync.aligned.m64n64k16.f32.f16.f16 " MLA_ACCUMULATORS_32
      "{%32, %33, %34, %35}, %36, p, 1, 1, 0;}"
      : MLA_ACCUMULATOR_OPERANDS_32(d)
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(b), "r"(static_cast<int>(accumulate)));
}

/// d[64x256] += a[64x16] b[16x256] of bf16, a by rows_descriptor, b by columns_descriptor.
MLA_DEVICE void wgmma_output(float (&d)[128], std::uint64_t a, std::uint64_t b) {
  MLA_WGMMA("m64n256k16", "bf16", 128, "%128, %129, 1, 1, 1, 0, 1", "l"(a), "l"(b));
}
/// The same, a from registers: of each wave's 16 rows as in mma_bf16.
MLA_DEVICE void wgmma_output(float (&d)[128], const std::uint32_t (&a)[4], std::uint64_t b) {
  MLA_WGMMA("m64n256k16", "bf16", 128, "{%128, %129, %130, %131}, %132, 1, 1, 1, 1", "r"(a[0]), "r"(a[1]), "r"(a[2]),
            "r"(a[3]), "l"(b));
}
/// d[64x128] += a[64x16] b[16x128] of f16. Not 256 columns: the kernel has 512 lanes, and the compiler takes no
/// instruction with more operands than the 128 registers that each of them starts with.
MLA_DEVICE void wgmma_output_f16(float* d, std::uint64_t a, std::uint64_t b) {
  MLA_WGMMA("m64n128k16", "f16", 64, "%64, %65, 1, 1, 1, 0, 1", "l"(a), "l"(b));
}
MLA_DEVICE void wgmma_output_f16(float* d, const std::uint32_t (&a)[4], std::uint64_t b) {
  MLA_WGMMA("m64n128k16", "f16", 64, "{%64, %65, %66, %67}, %68, 1, 1, 1, 1", "r"(a[0]), "r"(a[1]), "r"(a[2]),
            "r"(a[3]), "l"(b));
}
/// d[64x256] += a[64x32] b[256x32]^T of e4m3, a from registers, b by rows_descriptor. Its accumulator keeps about 14
/// bits: the decode kernels do not use it.
MLA_DEVICE void wgmma_e4m3(float (&d)[128], const std::uint32_t (&a)[4], std::uint64_t b) {
  MLA_WGMMA("m64n256k32", "e4m3", 128, "{%128, %129, %130, %131}, %132, 1, 1, 1", "r"(a[0]), "r"(a[1]), "r"(a[2]),
            "r"(a[3]), "l"(b));
}

#undef MLA_WGMMA
#undef MLA_ACCUMULATOR_OPERANDS_128
#undef MLA_ACCUMULATORS_128
#undef MLA_NUMBERS_128
#undef MLA_ACCUMULATOR_OPERANDS_64
#undef MLA_ACCUMULATORS_64
#undef MLA_NUMBERS_64
#undef MLA_ACCUMULATOR_OPERANDS_32
#undef MLA_ACCUMULATORS_32
#undef MLA_NUMBERS_32

}  // namespace mla::sm90
