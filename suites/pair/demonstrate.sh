#!/usr/bin/env bash
# Shows on this machine what `compare` and `pair` flag: nothing where a build is compared with itself, and exactly the
# cases that were slowed where a build takes 5 % longer from 64 heads on (slow_eigen.patch). The two builds differ in one
# constant: another layout of the code alone moves some cases by 5 %. Takes some twenty minutes, and needs a machine that
# does nothing else. Exit status 1 where anything else was flagged.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
cd "$here/../.."

usage="usage: suites/pair/demonstrate.sh [TIMES]   [10]"
case ${1:-10} in
  *[!0-9]*) echo "$usage" && exit 0 ;;
esac
times=${1:-10}
# One thread, always on the same processor: two that share a core disturb each other.
pinned() { taskset --cpu-list "$(($(nproc) - 1))" env OMP_NUM_THREADS=1 "$@"; }
launch=(--warmup 0.03 --budget 0.2 --progress never)
fast=('decode:b=8,kv=512,dtype=fp8' 'decode:h=32,kv=2048')
slow=('decode:h=64,kv=2048' 'decode:h=64,b=4,kv=512,dtype=fp8')
out=out/demonstration
mkdir -p "$out"

# commit_with SHARE: a commit whose eigen takes that share of its time from 64 heads on. It is on no branch, and the same
# one each time, so that it is built once.
commit_with() (
  date=$(git log -1 --format=%cI)
  export GIT_INDEX_FILE=$out/index GIT_AUTHOR_NAME=- GIT_AUTHOR_EMAIL=- GIT_COMMITTER_NAME=- GIT_COMMITTER_EMAIL=-
  export GIT_AUTHOR_DATE=$date GIT_COMMITTER_DATE=$date
  git read-tree HEAD
  sed "s/share = 1.05/share = $1/" "$here/slow_eigen.patch" | git apply --cached
  git commit-tree "$(git write-tree)" -p HEAD -m "eigen: $1 of its time from 64 heads on"
)
base=$(commit_with 1.00)
slowed=$(commit_with 1.05)

regressed() { sed 's/{"key"/\n&/g' "$1" | sed -n 's/^{"key":"\([^"]*\)".*"speed":"regressed".*/\1/p' | sort; }
expected=$(printf '%s @eigen\n' "${slow[@]}" | sort)
failures=0
verdict() { # verdict WHAT STATUS EXPECTED_STATUS
  if [ "$2" -eq "$3" ]; then echo "$1: as expected"; else echo "$1: exit status $2" && failures=$((failures + 1)); fi
}

pair_with() { # pair_with COMMIT NAME SEED: the exit status
  local status=0
  pinned ci/compare-commits.sh "$base" "$1" "${fast[@]}" "${slow[@]}" --provider eigen "${launch[@]}" --seed "$3" \
    --out "$out/$2.json" --markdown "$out/$2.md" --html "$out/$2.html" >"$out/$2.txt" || status=$?
  echo "$status"
}
# Both are built by all processors.
ci/compare-commits.sh "$base" "$slowed" decode:kv=64 --provider eigen --screen 3 --confirm 0 --out "$out/built.json" \
  --markdown "$out/built.md" --html "$out/built.html" "${launch[@]}" >"$out/built.txt" || [ $? -eq 1 ]
for ((i = 1; i <= times; ++i)); do
  status=$(pair_with "$slowed" "slowed-$i" "$i")
  [ "$(regressed "$out/slowed-$i.json")" = "$expected" ] || status=9
  verdict "slowed build, pair $i" "$status" 1
  verdict "same build, pair $i" "$(pair_with "$base" "same-$i" "$i")" 0
done

harness=.cache/compare/$base/build/${MLA_COMPARE_PRESET:-cpu}/bin/mla-harness
for ((i = 0; i <= times; ++i)); do
  pinned "$harness" run "${fast[@]}" "${slow[@]}" --provider eigen --mode P --launches 24 "${launch[@]}" --out "$out/run-$i.json" >/dev/null
  [ "$i" -gt 0 ] || continue
  status=0
  "$harness" compare "$out/run-$((i - 1)).json" "$out/run-$i.json" >"$out/compare-$i.txt" || status=$?
  verdict "same build, compare $i" "$status" 0
done
exit $((failures > 0))
