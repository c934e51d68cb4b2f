#!/usr/bin/env bash
# Compiles the kernels for AMD GPUs, without a GPU, and reports and gates what the compiler made of them.
# Uses the ROCm of this machine, or else Debian forky's compiler in a chroot that it makes once.
set -euo pipefail
. "$(dirname "$0")/lib.sh"

usage="usage: ci/rocm.sh [--targets 'gfx950 gfx942'] [--toolchain-only | --harness] [SOURCE.cpp]...
  Without sources: kernels/arch/TARGET/*.{cpp,hip} and kernels/*/instantiations/*.{cpp,hip}; one with a target's name in
  its path is compiled for that target alone.
  Leaves code objects, disassembly and resource notes in build/rocm/, and out/isa.json; exit status 1 if a kernel is over
  its budget (ci/isa/budget.json), with a line a violation.
  --harness      instead: build mla-harness with both targets' kernels (preset rocm), then run its GPU tests, which
                 without a GPU must be skipped by type. MLA_EMULATOR, a command prefix, runs them under an emulator
  MLA_ROCM_ROOT  where the chroot is kept (default ~/.cache/mla-harness/rocm), about 1 GB; delete it to have it made anew
  ROCM_PATH      a ROCm installation to use instead (default /opt/rocm if there is one)"

# Of forky, Debian's testing: Debian 12 and 13 have no compiler that knows gfx950.
suite=forky
toolchain_packages=hipcc,libamdhip64-dev
mirror=${MLA_DEBIAN_MIRROR:-http://deb.debian.org/debian}
root=${MLA_ROCM_ROOT:-${HOME:-/root}/.cache/mla-harness/rocm}
rocm=${ROCM_PATH:-/opt/rocm}

targets='gfx950 gfx942'
toolchain_only=off
harness=off
sources=()
while [ $# -gt 0 ]; do
  case $1 in
    -h | --help) echo "$usage" && exit 0 ;;
    --targets) targets=${2:?--targets takes names} && shift 2 ;;
    --toolchain-only) toolchain_only=on && shift ;;
    --harness) harness=on && shift ;;
    -*) die "unknown option '$1' (see --help)" ;;
    *) sources+=("$1") && shift ;;
  esac
done

make_chroot() {
  [ ! -f "$root/.complete" ] || return 0
  install_packages mmdebstrap debian-archive-keyring
  step "making a $suite chroot with $toolchain_packages in $root (once, about 1 GB)"
  mkdir -p "$(dirname "$root")"
  as_root rm -rf "$root"
  # Signatures are checked as always. Only the release file's expiry date is not: a mirror may be a frozen snapshot.
  as_root mmdebstrap --quiet --variant=minbase --include="$toolchain_packages" \
    --aptopt='Acquire::Check-Valid-Until "false"' "$suite" "$root" "$mirror" ||
    die "mmdebstrap could not make $root from $mirror"
  as_root touch "$root/.complete"
}

# in_toolchain COMMAND...: where the compiler is; the kernels' sources and outputs are under its working directory.
if [ -x "$rocm/llvm/bin/clang++" ]; then
  work=$MLA_ROOT/build/rocm
  bin=$rocm/llvm/bin
  in_toolchain() { (cd "$work" && "$@"); }
  in_tree() { (cd "$MLA_ROOT" && "$@"); }
  copy_tree() { :; }
  own_work() { :; }
else
  make_chroot
  work=$root/mla
  bin=$(cd "$root" && find usr/lib -path '*/llvm-*/bin/clang++' | sort -V | tail -n 1)
  [ -n "$bin" ] || die "no clang in $root; delete it to have it made anew"
  bin=/$(dirname "$bin")
  in_toolchain() { as_root chroot "$root" /bin/sh -c 'cd /mla && exec "$@"' sh "$@"; }
  # In a mount namespace of its own, so that a killed run leaves no /proc behind: the build's tools and the harness read it.
  # This machine's ccache is not in there.
  # shellcheck disable=SC2016 # for the inner shells to expand
  in_tree() {
    as_root unshare --mount --pid --fork sh -c \
      'mount -t proc proc "$0/proc" && exec chroot "$0" /bin/sh -c "$1" sh "$@"' "$root" \
      'cd /mla/tree && shift && exec env -u CMAKE_CXX_COMPILER_LAUNCHER "$@"' "$@"
  }
  # All but the build folder is made anew; files keep their times, so that only what changed is compiled again.
  copy_tree() {
    as_root mkdir -p "$work/tree"
    as_root find "$work/tree" -mindepth 1 -maxdepth 1 ! -name build -exec rm -rf {} +
    (cd "$MLA_ROOT" && git ls-files --cached --others --exclude-standard -z | tar -c --null -T -) |
      as_root tar -x --no-same-owner -C "$work/tree"
    as_root cp /etc/resolv.conf "$root/etc/resolv.conf"
  }
  own_work() { as_root chown -R "$(id -u):$(id -g)" "$work"; }
  as_root mkdir -p "$work"
  own_work
fi
compiler=$(in_toolchain "$bin/clang++" --version | head -n 1)
step "compiler: $compiler"
[ "$toolchain_only" = off ] || exit 0

if [ "$harness" = on ]; then
  step "harness: setup"
  copy_tree
  in_tree ci/setup.sh --torch off --charts off
  step "harness: build (rocm)"
  in_tree cmake --preset rocm -DMLA_TORCH=OFF -DMLA_CHARTS=OFF
  in_tree env CMAKE_BUILD_PARALLEL_LEVEL="$MLA_JOBS" cmake --build --preset rocm --target mla-harness
  step "harness: GPU tests"
  in_tree env MLA_EMULATOR="${MLA_EMULATOR:-}" ctest --preset rocm --label-regex gpu
  step "done"
  exit 0
fi

cd "$MLA_ROOT"
if [ ${#sources[@]} -eq 0 ]; then
  for source in kernels/arch/gfx*/*.{cpp,hip} kernels/*/instantiations/*.{cpp,hip}; do
    [ ! -f "$source" ] || sources+=("$source")
  done
fi
[ ${#sources[@]} -gt 0 ] || die "no sources: no *.cpp or *.hip in kernels/arch/gfx*/ or kernels/*/instantiations/"

# The whole of kernels/ is copied: a bind mount would need more rights and be left behind by a killed run.
rm -rf "$work/src" "$work/objects"
mkdir -p "$work/src" "$work/objects"
cp -r kernels "$work/src/"
jobs_file=$work/jobs
: >"$jobs_file"
for source in "${sources[@]}"; do
  [ -f "$source" ] || die "no such source: $source"
  install -D "$source" "$work/src/$source"
  named=$(grep -oE 'gfx[0-9a-f]+|sm[0-9]+|host' <<<"$source" | tail -n 1 || true)
  for target in $targets; do
    [ -z "$named" ] || [ "$named" = "$target" ] || continue
    echo "$target $source" >>"$jobs_file"
  done
done

cat >"$work/compile" <<'SCRIPT'
#!/bin/sh
# compile BIN TARGET SOURCE: code object, disassembly and notes of one source for one target
set -eu
bin=$1 target=$2 source=$3
name=$(basename "$source" .cpp)
name=objects/${name%.hip}.$target
"$bin/clang++" -x hip --offload-arch="$target" --offload-device-only --no-gpu-bundle-output \
  -DMLA_TARGET_GFX -std=c++20 -O3 -Wall -Wextra -Werror -I src -I src/kernels/include -c "src/$source" -o "$name.co"
"$bin/llvm-readelf" --notes "$name.co" >"$name.notes"
"$bin/llvm-objdump" --disassemble "$name.co" >"$name.s"
SCRIPT
step "compiling ${#sources[@]} sources for $targets: $(wc -l <"$jobs_file") code objects"
in_toolchain xargs -a jobs -L 1 -P "$MLA_JOBS" sh ./compile "$bin" || die "a kernel does not compile"
own_work

step "reporting"
ci/setup.sh --torch off
cmake --preset cpu >/dev/null
cmake --build --preset cpu --target mla-isa-report mla-launch-shapes >/dev/null
mkdir -p build/rocm out
build/cpu/bin/mla-launch-shapes >build/rocm/launches.json
[ "$work" = "$MLA_ROOT/build/rocm" ] || { rm -rf build/rocm/objects && cp -r "$work/objects" build/rocm/; }
status=0
build/cpu/bin/mla-isa-report build/rocm/objects --launches build/rocm/launches.json --budget ci/isa/budget.json \
  --compiler "$compiler" --out out/isa.json || status=$?
step "done: out/isa.json (exit status $status)"
exit "$status"
