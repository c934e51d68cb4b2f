#!/usr/bin/env bash
# A night on an MI355: build, gate on the instruction-set budget and on correctness, sweep, compare with the last report
# of the same machine and build environment, keep the report. Exit status: the first that is not 0 of budget, smoke,
# sweep and comparison.
set -euo pipefail
. "$(dirname "$0")/lib.sh"

usage="usage: ci/nightly-mi355.sh [SUITE.json]...
  Without a suite: nightly. Leaves out/nightly.json, out/nightly.html and a copy of the report in the history.
  MLA_HISTORY   folder of earlier reports (default ~/.local/share/mla-harness/mi355)
  MLA_EMULATOR  command prefix, e.g. of an instruction-set emulator: the suites run under it, for correctness alone"

case ${1:-} in
  -h | --help) echo "$usage" && exit 0 ;;
esac
[ $# -gt 0 ] || set -- nightly
history=${MLA_HISTORY:-$HOME/.local/share/mla-harness/mi355}
read -ra emulator <<<"${MLA_EMULATOR:-}"
mode=CP
[ ${#emulator[@]} -eq 0 ] || mode=C

cd "$MLA_ROOT"
mkdir -p out "$history"
step "build (rocm)"
ci/setup.sh --torch off
cmake --preset rocm
cmake --build --preset rocm
harness=build/rocm/bin/mla-harness
run_suite() { "${emulator[@]}" "$harness" run "$@" --provider hip --mode "$mode"; }

step "instruction-set budget"
ci/rocm.sh --targets gfx950

# Correctness on a few shapes first: a wrong kernel has no speed worth a night.
step "smoke"
run_suite smoke --out out/nightly-smoke.json

step "sweep: $*"
status=0
run_suite "$@" --out out/nightly.json || status=$?
[ -f out/nightly.json ] || die "the sweep left no report (exit status $status)"

# The newest report that can be compared at all: 3 means another machine, driver or build.
step "compare"
for earlier in $(find "$history" -name '*.json' | sort -r); do
  compared=0
  "$harness" compare "$earlier" out/nightly.json --markdown out/nightly.md || compared=$?
  [ "$compared" -ne 3 ] || continue
  [ "$status" -ne 0 ] || status=$compared
  break
done

# Names sort by time. A report of a run that did not end well is kept too: the trend shows the gap.
cp out/nightly.json "$history/$(date -u +%Y%m%dT%H%M%SZ)-$(git rev-parse --short HEAD).json"
"$harness" report "$history" --html out/nightly.html || [ "$status" -ne 0 ] || status=$?
step "done: out/nightly.json, out/nightly.html (exit status $status)"
exit "$status"
