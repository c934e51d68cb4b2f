#!/usr/bin/env bash
# bit_cast.sh ROOT: fails where a kernel casts the bits of an indexed element. Of a vector's element clang makes the bits
# of its first, whatever the index is, and no host test can see that: cast the whole vector, or a copy of the element.
set -euo pipefail
cast='bit_cast(<[^()]*>\(|\([^()]*, *)[A-Za-z_][A-Za-z0-9_.]*\[[^]]*\]\)'
grep -qE "$cast" <<<'__builtin_bit_cast(std::uint32_t, values[1])' || { echo "the expression is wrong" >&2 && exit 1; }
if grep -rnE "$cast" "$1/kernels"; then
  echo "an indexed element may not be the operand of a bit_cast" >&2
  exit 1
fi
