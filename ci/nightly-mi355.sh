#!/usr/bin/env bash
# A night on an MI355: build, check the machine, gate on the instruction-set budget and on correctness, sweep over the
# node's GPUs, compare with the last good night of the same machine and build environment, keep the report. Exit status:
# the first that is not 0 of environment, budget, smoke, sweep and comparison.
set -euo pipefail
. "$(dirname "$0")/lib.sh"

usage="usage: ci/nightly-mi355.sh [SUITE.json | PROBLEM]...
  Without a suite: nightly. Leaves report.json, report.html and pr.md in out/nightly, and a copy of the report in the
  history: of a good night beside the others, of one that was not good below not-good/. A night is compared with the
  newest good one; a regression that is wanted becomes good by moving its report up.
  MLA_OUT       folder for what is left instead of out/nightly
  MLA_HISTORY   folder of earlier reports (default ~/.local/share/mla-harness/mi355)
  MLA_MARGINS   file of margins, floors and canaries for the comparison (default: MLA_HISTORY with .margins.json behind
                it, where that is there)
  MLA_GPUS      processes that share the sweep, one a GPU (default: the GPUs that the driver shows)
  MLA_PROVIDER  what is run (default hip)
  MLA_REQUIRE   what the machine must have, for doctor --require (default: the provider, and for hip gpu=gfx950)
  MLA_SMOKE     suite or problem that must pass before the sweep (default smoke)
  MLA_LAUNCHES  processes in which each case is measured, the unit of the comparison (default 8)
  MLA_HARNESS   a built mla-harness: nothing is built, and there is no instruction-set budget
  MLA_EMULATOR  command prefix, e.g. of an instruction-set emulator: the suites run under it, for correctness alone"

case ${1:-} in
  -h | --help) echo "$usage" && exit 0 ;;
  -*) die "unknown option '$1' (see --help)" ;;
esac
[ $# -gt 0 ] || set -- nightly
history=${MLA_HISTORY:-$HOME/.local/share/mla-harness/mi355}
margins=${MLA_MARGINS:-$history.margins.json}
provider=${MLA_PROVIDER:-hip}
require=$provider
[ "$provider" != hip ] || require=$provider,gpu=gfx950
require=${MLA_REQUIRE:-$require}
read -ra emulator <<<"${MLA_EMULATOR:-}"
mode=(--mode CP --launches "${MLA_LAUNCHES:-8}")
[ ${#emulator[@]} -eq 0 ] || mode=(--mode C)

# GPUs that a driver shows; 1 without any, for a provider that needs none.
count_gpus() {
  local count
  count=$(grep -lsE '^simd_count [1-9]' /sys/class/kfd/kfd/topology/nodes/*/properties | wc -l) || true
  [ "$count" -gt 0 ] || count=$(find /proc/driver/nvidia/gpus -mindepth 1 -maxdepth 1 2>/dev/null | wc -l)
  [ "$count" -gt 0 ] && echo "$count" || echo 1
}
gpus=${MLA_GPUS:-$(count_gpus)}
[[ $gpus =~ ^[1-9][0-9]*$ ]] || die "MLA_GPUS is a number of processes, not '$gpus'"

cd "$MLA_ROOT"
out=${MLA_OUT:-out/nightly}
mkdir -p "$out" "$history/not-good"
exec 9>"$history/.lock"
flock --nonblock 9 || die "another night writes to $history"

if [ -n "${MLA_HARNESS:-}" ]; then
  harness=$MLA_HARNESS
else
  step "build (rocm)"
  ci/setup.sh --torch off
  cmake --preset rocm
  cmake --build --preset rocm
  harness=build/rocm/bin/mla-harness
fi

step "environment: $require"
"$harness" doctor --require "$require"

if [ -z "${MLA_HARNESS:-}" ]; then
  step "instruction-set budget"
  ci/rocm.sh --targets gfx950
fi

# run_on GPU ARGUMENT...: mla-harness run on one GPU alone. AMD's runtime counts on from what ROCR_ leaves visible, and
# HIP also reads CUDA_VISIBLE_DEVICES: each vendor gets its own variable and no other.
run_on() {
  local gpu=$1
  shift
  if [ -e /dev/kfd ]; then
    env -u HIP_VISIBLE_DEVICES -u CUDA_VISIBLE_DEVICES "ROCR_VISIBLE_DEVICES=$gpu" \
      "${emulator[@]}" "$harness" run "$@" --provider "$provider"
  else
    env "CUDA_VISIBLE_DEVICES=$gpu" "${emulator[@]}" "$harness" run "$@" --provider "$provider"
  fi
}

# Correctness on a few shapes first: a wrong kernel has no speed worth a night.
step "smoke"
run_on 0 "${MLA_SMOKE:-smoke}" --mode C --out "$out/smoke.json"

# A shard whose process died goes on once from its journal: the GPU may have been lost for a moment.
sweep_shard() {
  local i=$1 code=0
  shift
  local shard=(run_on $((i - 1)) "$@" "${mode[@]}" --shard "$i/$gpus" --out "$out/shard-$i.json" --progress never)
  "${shard[@]}" || code=$?
  if [ ! -f "$out/shard-$i.json" ]; then
    code=0
    "${shard[@]}" --resume || code=$?
  fi
  return "$code"
}

step "sweep on $gpus: $*"
rm -f "$out"/shard-*
pids=()
for i in $(seq "$gpus"); do
  sweep_shard "$i" "$@" >"$out/shard-$i.log" 2>&1 9>&- &
  pids+=($!)
done
status=0
for i in $(seq "$gpus"); do
  code=0
  wait "${pids[i - 1]}" || code=$?
  [ -f "$out/shard-$i.json" ] || die "shard $i of $gpus left no report (exit status $code): $(tail -n 1 "$out/shard-$i.log")"
  [ "$status" -ne 0 ] || status=$code
done

step "merge"
shards=("$out"/shard-*.json)
"$harness" merge "${shards[@]}" --out "$out/report.json"
"$harness" report "$out/report.json" | tail -n 20

# The newest good night whose times can be compared.
fingerprint_of() { grep -om 1 '"fingerprint": *"[^"]*"' "$1" || true; }
earlier=
while read -r candidate; do
  [ "$(fingerprint_of "$candidate")" = "$(fingerprint_of "$out/report.json")" ] && earlier=$candidate && break
done < <(find "$history" -maxdepth 1 -name '*.json' | sort -r)
if [ -n "$earlier" ]; then
  step "compare with $earlier"
  options=()
  [ ! -f "$margins" ] || options=(--margins "$margins")
  compared=0
  "$harness" compare "$earlier" "$out/report.json" --markdown "$out/pr.md" "${options[@]}" || compared=$?
  [ "$status" -ne 0 ] || status=$compared
else
  step "no good night of this machine and build environment to compare with"
fi

# Names sort by time. A report of a night that was not good is kept too: the trend shows it.
place=$history
[ "$status" -eq 0 ] || place=$history/not-good
cp "$out/report.json" "$place/$(date -u +%Y%m%dT%H%M%SZ)-$(git rev-parse --short HEAD).json"
"$harness" report "$history" --html "$out/report.html" || [ "$status" -ne 0 ] || status=$?
step "done: $out/report.json, $out/report.html (exit status $status)"
exit "$status"
