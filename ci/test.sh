#!/usr/bin/env bash
# Sets the machine up, builds with warnings as errors, runs every test. Ends with ctest's exit status.
set -euo pipefail
. "$(dirname "$0")/lib.sh"

usage="usage: ci/test.sh [--preset ci|asan|coverage] [CTEST-ARGUMENT]...
  e.g. ci/test.sh -R 'Decode' runs the tests whose names match
  MLA_JOBS  parallel jobs (default: all cores)"

preset=ci
case ${1:-} in
  -h | --help) echo "$usage" && exit 0 ;;
  --preset) preset=${2:?--preset takes a name} && shift 2 ;;
esac

cd "$MLA_ROOT"
step "setup"
ci/setup.sh --browser
step "configure ($preset)"
cmake --preset "$preset"
step "build"
cmake --build --preset "$preset"
step "test"
status=0
ctest --preset "$preset" --parallel "$MLA_JOBS" --output-junit "$MLA_ROOT/out/ctest.xml" "$@" || status=$?
step "done (ctest exit status $status; JUnit XML in out/ctest.xml)"
exit "$status"
