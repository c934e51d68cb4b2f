// The Hopper instructions that the kernels use, one function each, named as PTX names them.
#pragma once

#include <cuda.h>

#include <cstddef>
#include <cstdint>

#include "kernels/runtime/target.hpp"

namespace mla::sm90 {

MLA_DEVICE std::uint32_t shared_address(const void* pointer) {
  return static_cast<std::uint32_t>(__cvta_generic_to_shared(pointer));
}

/// Four 8x8 matrices of 16-bit elements; lane l gives the address of row l % 8 of matrix l / 8.
MLA_DEVICE void ldmatrix_x4(std::uint32_t (&r)[4], const void* row) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
               : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3])
               : "r"(shared_address(row))
               : "memory");
}

MLA_DEVICE void ldmatrix_x4_trans(std::uint32_t (&r)[4], const void* row) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0, %1, %2, %3}, [%4];"
               : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3])
               : "r"(shared_address(row))
               : "memory");
}

/// d[16x8] += a[16x16] b[16x8]. a0: row g, k 2t; a1: row g+8; a2: k 2t+8; a3: both. b0: k 2t, column g; b1: k 2t+8.
/// d0, d1: row g, columns 2t, 2t+1; d2, d3: row g+8 (g = lane / 4, t = lane % 4).
MLA_DEVICE void mma_bf16(float (&d)[4], const std::uint32_t (&a)[4], std::uint32_t b0, std::uint32_t b1) {
  asm("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, "
      "%3};"
      : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
}

MLA_DEVICE void mma_f16(float (&d)[4], const std::uint32_t (&a)[4], std::uint32_t b0, std::uint32_t b1) {
  asm("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, "
      "%3};"
      : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
}

/// Two e4m3fn bytes to two f16 values: exact.
MLA_DEVICE std::uint32_t f16x2_from_low(std::uint32_t bytes) {
  std::uint32_t d;
  asm("{.reg .b16 lo, hi; mov.b32 {lo, hi}, %1; cvt.rn.f16x2.e4m3x2 %0, lo;}" : "=r"(d) : "r"(bytes));
  return d;
}
MLA_DEVICE std::uint32_t f16x2_from_high(std::uint32_t bytes) {
  std::uint32_t d;
  asm("{.reg .b16 lo, hi; mov.b32 {lo, hi}, %1; cvt.rn.f16x2.e4m3x2 %0, hi;}" : "=r"(d) : "r"(bytes));
  return d;
}

/// Rounds two values to nearest even; `low` lands in the low half.
MLA_DEVICE std::uint32_t bf16x2(float low, float high) {
  std::uint32_t d;
  asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(d) : "f"(high), "f"(low));
  return d;
}
MLA_DEVICE std::uint32_t f16x2(float low, float high) {
  std::uint32_t d;
  asm("cvt.rn.f16x2.f32 %0, %1, %2;" : "=r"(d) : "f"(high), "f"(low));
  return d;
}

MLA_DEVICE void mbarrier_init(std::uint32_t barrier, std::uint32_t arrivals) {
  asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(barrier), "r"(arrivals) : "memory");
}

/// Makes initialised barriers known to the copy engine.
MLA_DEVICE void fence_barrier_init() {
  asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
}

/// Orders this lane's ordinary accesses to shared memory before later ones by the copy engine or the tensor cores.
MLA_DEVICE void fence_async_proxy() {
  asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
}

MLA_DEVICE uint4 load_shared(std::uint32_t address) {
  uint4 value;
  asm volatile("ld.shared.v4.u32 {%0, %1, %2, %3}, [%4];"
               : "=r"(value.x), "=r"(value.y), "=r"(value.z), "=r"(value.w)
               : "r"(address)
               : "memory");
  return value;
}
MLA_DEVICE void store_shared(std::uint32_t address, const uint4& value) {
  asm volatile("st.shared.v4.u32 [%0], {%1, %2, %3, %4};" ::"r"(address), "r"(value.x), "r"(value.y), "r"(value.z),
               "r"(value.w)
               : "memory");
}

MLA_DEVICE void mbarrier_arrive(std::uint32_t barrier) {
  asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" ::"r"(barrier) : "memory");
}

MLA_DEVICE void mbarrier_arrive_expect(std::uint32_t barrier, std::uint32_t bytes) {
  asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(barrier), "r"(bytes) : "memory");
}

MLA_DEVICE void mbarrier_wait(std::uint32_t barrier, std::uint32_t parity) {
  asm volatile(
      "{.reg .pred done;\n"
      "RETRY_%=:\n"
      "mbarrier.try_wait.parity.shared::cta.b64 done, [%0], %1;\n"
      "@!done bra RETRY_%=;\n"
      "}" ::"r"(barrier),
      "r"(parity)
      : "memory");
}

/// Copies `bytes` (a multiple of 16) from global to shared memory; `barrier` counts them when they have landed.
MLA_DEVICE void copy_bulk(std::uint32_t destination, const void* source, std::uint32_t bytes, std::uint32_t barrier) {
  asm volatile(
      "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];" ::"r"(destination),
      "l"(source), "r"(bytes), "r"(barrier)
      : "memory");
}

/// Starts a copy of 16 bytes, or of zeros where `present` is false; by ordinary lanes, not the bulk engine.
MLA_DEVICE void copy_16_or_zero(std::uint32_t destination, const void* source, bool present) {
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(destination), "l"(source), "r"(present ? 16 : 0)
               : "memory");
}

/// Arrives at `barrier`, as one of those it expects, once this lane's copies so far have landed.
MLA_DEVICE void copy_arrive(std::uint32_t barrier) {
  asm volatile("cp.async.mbarrier.arrive.noinc.shared::cta.b64 [%0];" ::"r"(barrier) : "memory");
}

/// Copies the box at (`dim`, `token`, `page`) of a tensor map to shared memory; `barrier` counts its bytes when they
/// have landed. With `kWorkgroups` > 1, to the same place in every workgroup of the cluster, each of whose barriers
/// counts.
template <int kWorkgroups>
MLA_DEVICE void copy_box(std::uint32_t destination, const CUtensorMap* map, int dim, int token, int page,
                         std::uint32_t barrier) {
  const auto address = reinterpret_cast<std::uint64_t>(map);
  if constexpr (kWorkgroups == 1) {
    asm volatile(
        "cp.async.bulk.tensor.3d.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1, {%2, %3, %4}], "
        "[%5];" ::"r"(destination),
        "l"(address), "r"(dim), "r"(token), "r"(page), "r"(barrier)
        : "memory");
  } else {
    asm volatile(
        "cp.async.bulk.tensor.3d.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster [%0], [%1, "
        "{%2, %3, %4}], [%5], %6;" ::"r"(destination),
        "l"(address), "r"(dim), "r"(token), "r"(page), "r"(barrier),
        "h"(static_cast<std::uint16_t>((1 << kWorkgroups) - 1))
        : "memory");
  }
}

MLA_DEVICE void prefetch_map(const CUtensorMap* map) {
  asm volatile("prefetch.tensormap [%0];" ::"l"(reinterpret_cast<std::uint64_t>(map)) : "memory");
}

/// Arrives at workgroup `rank`'s barrier of the same offset as `barrier`, anywhere in the cluster.
MLA_DEVICE void mbarrier_arrive_at(std::uint32_t barrier, int rank) {
  asm volatile(
      "{.reg .b32 remote;\n"
      "mapa.shared::cluster.u32 remote, %0, %1;\n"
      "mbarrier.arrive.shared::cluster.b64 _, [remote];\n"
      "}" ::"r"(barrier),
      "r"(rank)
      : "memory");
}

/// All lanes of all workgroups of the cluster; what was done before `arrive` is seen after `wait`.
MLA_DEVICE void cluster_arrive() {
  asm volatile("barrier.cluster.arrive.release.aligned;" ::: "memory");
}
MLA_DEVICE void cluster_wait() {
  asm volatile("barrier.cluster.wait.acquire.aligned;" ::: "memory");
}

/// A barrier of the first `kLanes` lanes alone.
template <int kLanes>
MLA_DEVICE void barrier_of_first() {
  asm volatile("barrier.cta.sync 1, %0;" ::"n"(kLanes) : "memory");
}

/// Registers a lane of this warpgroup may use from here on; the warpgroups' sum must fit the multiprocessor.
template <int kRegisters>
MLA_DEVICE void keep_registers() {
  asm volatile("setmaxnreg.dec.sync.aligned.u32 %0;" ::"n"(kRegisters));
}
template <int kRegisters>
MLA_DEVICE void take_registers() {
  asm volatile("setmaxnreg.inc.sync.aligned.u32 %0;" ::"n"(kRegisters));
}

}  // namespace mla::sm90
