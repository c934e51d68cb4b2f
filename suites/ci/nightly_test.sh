#!/usr/bin/env bash
# nightly_test.sh ROOT HARNESS FAULTY: ci/nightly-mi355.sh with a CPU provider in the GPU's place, over a good night, the
# night after, a wrong kernel, a machine that lacks something and two nights at once. FAULTY has providers that fail.
set -euo pipefail
root=$1
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
export MLA_OUT=$scratch/out MLA_HISTORY=$scratch/history MLA_GPUS=2 MLA_SMOKE=decode:kv=5
# Correctness alone: times of a test machine would make a night bad now and then.
export MLA_EMULATOR=env

fail() {
  echo "$*: $(tail -n 5 "$scratch/log")"
  exit 1
}
# night STATUS HARNESS PROVIDER PROBLEM...
night() {
  local expected=$1 code=0
  MLA_HARNESS=$2 MLA_PROVIDER=$3 "$root/ci/nightly-mi355.sh" "${@:4}" >"$scratch/log" 2>&1 || code=$?
  [ "$code" -eq "$expected" ] || fail "exit status $code, not $expected"
}
nights() { find "$MLA_HISTORY$1" -maxdepth 1 -name '*.json' | wc -l; }

night 0 "$2" eigen decode:kv=6 decode:kv=7 decode:kv=8
grep -q "no good night" "$scratch/log" || fail "a first night has nothing to compare with"
grep -q '"total": 3' "$MLA_OUT/report.json" || fail "the shards' cases are not all in the report"
[ -s "$MLA_OUT/report.html" ] || fail "no dashboard"
sleep 1 # names of nights sort by the second
night 0 "$2" eigen decode:kv=6 decode:kv=7 decode:kv=8
grep -q "3 cases in both" "$scratch/log" || fail "the second night was not compared with the first"
sleep 1
night 5 "$2" eigen decode:kv=6 decode:kv=7
[ "$(nights ''),$(nights /not-good)" = 2,1 ] || fail "a night that lost a case became a good one"

night 2 "$3" wrong-value decode:kv=6
grep -q sweep "$scratch/log" && fail "a wrong kernel was swept all the same"
MLA_REQUIRE=gpu=gfx950 night 3 "$2" eigen decode:kv=6
grep -q "lacks gpu=gfx950" "$scratch/log" || fail "it is not said what is missing"
exec 8>"$MLA_HISTORY/.lock"
flock 8
night 3 "$2" eigen decode:kv=6
grep -q "another night" "$scratch/log" || fail "two nights ran at once"
echo "six nights as they should be"
