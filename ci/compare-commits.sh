#!/usr/bin/env bash
# Builds two commits and compares their speed on this machine, launch by launch (mla-harness pair).
# Exit status: that of the comparison; 125, which git bisect skips, where a commit does not build.
set -euo pipefail
. "$(dirname "$0")/lib.sh"

usage="usage: ci/compare-commits.sh BASE NEW [SUITE.json | PROBLEM]... [mla-harness pair OPTION]...
  BASE, NEW  commits, or anything that git resolves to one. Without a suite or problem: smoke.
  Leaves out/pair.json, out/pair.md and out/pair.html, unless the options name other files.
  Each commit is checked out and built once, in MLA_COMPARE_CACHE (default: .cache/compare in the repository, which git
  ignores). Nothing else is touched: no branch, no stash, not the working tree. To free the space: git worktree remove
  those folders.
  MLA_COMPARE_PRESET  CMake preset [cpu]

  To find the commit that slowed a case down, between a GOOD and a BAD one:
    git bisect start BAD GOOD
    git bisect run ci/compare-commits.sh GOOD HEAD PROBLEM --provider eigen --margin 3
  git takes 0 for good, 1 to 124 for bad and 125 for \"cannot say\": a commit that does not build is skipped. Run a copy of
  the script from outside the tree where the commits in between do not have it."

case ${1:-} in
  -h | --help) echo "$usage" && exit 0 ;;
esac
[ $# -ge 2 ] || { echo "compare-commits.sh: two commits are needed, BASE and NEW (see --help)" >&2 && exit 4; }
# From where it is called: a copy of this script may lie outside the repository.
root=$(git rev-parse --show-toplevel 2>/dev/null) || die "not in a git repository"
cache=${MLA_COMPARE_CACHE:-$root/.cache/compare}
preset=${MLA_COMPARE_PRESET:-cpu}

commit_of() {
  git -C "$root" rev-parse --verify --quiet "$1^{commit}" ||
    { echo "compare-commits.sh: '$1' is no commit of this repository" >&2 && exit 4; }
}
base=$(commit_of "$1")
new=$(commit_of "$2")
shift 2
case ${1:-} in
  '' | -*) set -- smoke "$@" ;;
esac

# The path of a commit's executable, built where it is not there yet. Its folder has the commit's whole name: what is
# built once holds for ever.
harness_of() {
  local commit=$1 folder=$cache/$1
  local harness=$folder/build/$preset/bin/mla-harness log=$cache/$1.log
  if [ ! -f "$folder/.built-$preset" ]; then
    step "build ${commit:0:12} ($preset), log: $log"
    mkdir -p "$cache"
    # A folder that was removed by hand is still registered.
    git -C "$root" worktree prune
    [ -e "$folder/.git" ] || git -C "$root" worktree add --quiet --detach "$folder" "$commit"
    if ! (cd "$folder" && cmake --preset "$preset" -DMLA_TESTS=OFF && cmake --build --preset "$preset" --target mla-harness) \
      >"$log" 2>&1; then
      tail -n 20 "$log" >&2
      step "${commit:0:12} does not build: exit status 125"
      exit 125
    fi
    touch "$folder/.built-$preset"
  fi
  echo "$harness"
}
# Not in one command with its use: the exit status of a substitution is lost there.
base_harness=$(harness_of "$base")
new_harness=$(harness_of "$new")

outputs=()
case " $* " in *' --out'*) ;; *) outputs+=(--out "$root/out/pair.json") ;; esac
case " $* " in *' --markdown'*) ;; *) outputs+=(--markdown "$root/out/pair.md") ;; esac
case " $* " in *' --html'*) ;; *) outputs+=(--html "$root/out/pair.html") ;; esac

step "pair ${base:0:12} ${new:0:12} $*"
exec "$new_harness" pair --base "$base_harness" --new "$new_harness" "$@" "${outputs[@]}"
