// Eigen's SIMD packets under short names: the kernel is written once for SSE, AVX2, AVX-512 and NEON.
#pragma once

#include <Eigen/Core>

namespace mla::harness::eigen {

using Packet = Eigen::internal::packet_traits<float>::type;
using Mask = Packet;  // all bits set or none, a lane

/// float32 values in a packet: 4, 8 or 16.
inline constexpr int kLanes = Eigen::internal::packet_traits<float>::size;

inline Packet load(const float* p) {
  return Eigen::internal::pload<Packet>(p);
}
inline void store(float* p, Packet x) {
  Eigen::internal::pstore(p, x);
}
inline Packet broadcast(float x) {
  return Eigen::internal::pset1<Packet>(x);
}
inline Packet broadcast(const float* p) {
  return Eigen::internal::pload1<Packet>(p);
}
inline Packet fma(Packet a, Packet b, Packet c) {
  return Eigen::internal::pmadd(a, b, c);
}
inline Packet mul(Packet a, Packet b) {
  return Eigen::internal::pmul(a, b);
}
inline Packet add(Packet a, Packet b) {
  return Eigen::internal::padd(a, b);
}
inline Packet sub(Packet a, Packet b) {
  return Eigen::internal::psub(a, b);
}
inline Packet max(Packet a, Packet b) {
  return Eigen::internal::pmax(a, b);
}
inline Packet exp(Packet a) {
  return Eigen::internal::pexp(a);
}
inline Mask less(Packet a, Packet b) {
  return Eigen::internal::pcmp_lt(a, b);
}
inline Packet select(Mask mask, Packet yes, Packet no) {
  return Eigen::internal::pselect(mask, yes, no);
}

}  // namespace mla::harness::eigen
