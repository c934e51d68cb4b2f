#!/usr/bin/env bash
# Sets the machine up, builds the harness, runs a suite on it, writes the report and compares with the one before.
# Exit status: the run's if it is not 0, else the comparison's, else 0.
set -euo pipefail
. "$(dirname "$0")/lib.sh"

usage="usage: ci/sweep.sh [SUITE.json | PROBLEM]... [mla-harness run OPTION]...
  Without a suite or problem: smoke. Leaves out/report.json and out/report.html; the report that was there moves to
  out/previous.json and is compared with the new one."

case ${1:-} in
  -h | --help) echo "$usage" && exit 0 ;;
  '' | -*) set -- smoke "$@" ;;
esac

cd "$MLA_ROOT"
step "setup"
ci/setup.sh
step "configure (cpu)"
cmake --preset cpu
step "build"
cmake --build --preset cpu --target mla-harness
harness=build/cpu/bin/mla-harness

mode=(--mode CP)
case " $* " in
  *' --mode'*) mode=() ;;
esac

mkdir -p out
[ ! -f out/report.json ] || mv out/report.json out/previous.json

step "run $*"
status=0
"$harness" run "$@" "${mode[@]}" --out out/report.json --junit out/report.xml || status=$?
[ -f out/report.json ] || die "the run left no out/report.json (exit status $status)"

"$harness" report out/report.json --html out/report.html || [ "$status" -ne 0 ] || status=$?
if [ -f out/previous.json ]; then
  step "compare with out/previous.json"
  compared=0
  "$harness" compare out/previous.json out/report.json || compared=$?
  [ "$status" -ne 0 ] || status=$compared
fi
step "done: out/report.json, out/report.html (exit status $status)"
exit "$status"
