#!/usr/bin/env bash
# Builds for an NVIDIA GPU, runs the GPU tests, then a sweep on it with a report.
set -euo pipefail
. "$(dirname "$0")/lib.sh"

usage="usage: ci/cuda.sh [--no-setup] [SUITE.json | PROBLEM]... [mla-harness run OPTION]...
  Without a suite or problem: smoke edge. Leaves out/cuda.json. Needs the CUDA toolkit (nvcc) and a GPU.
  --no-setup  the machine is set up already, or is not Debian"

setup=on
case ${1:-} in
  -h | --help) echo "$usage" && exit 0 ;;
  --no-setup) setup=off && shift ;;
esac
case ${1:-} in
  '' | -*) set -- smoke edge "$@" ;;
esac

cd "$MLA_ROOT"
PATH=$PATH:/usr/local/cuda/bin
command -v nvcc >/dev/null || die "no nvcc in PATH or /usr/local/cuda/bin"
[ "$setup" = off ] || { step "setup" && ci/setup.sh --torch off; }
step "configure (cuda)"
cmake --preset cuda
step "build"
cmake --build --preset cuda
step "test"
ctest --preset cuda --label-regex gpu --output-junit "$MLA_ROOT/out/ctest-cuda.xml"
step "run $*"
exec build/cuda/bin/mla-harness run "$@" --provider hip --mode CP --out out/cuda.json
