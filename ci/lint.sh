#!/usr/bin/env bash
# Checks formatting and, where shellcheck is installed, the scripts; with --tidy runs clang-tidy. Changes nothing.
set -euo pipefail
. "$(dirname "$0")/lib.sh"

usage="usage: ci/lint.sh [--tidy [--all]] [FILE]...
  Formatting is checked with clang-format 14: another version lays the same code out differently.
  --tidy  also run clang-tidy on the FILEs, or those changed since the last commit on main, or with --all on every source
  Fix formatting with: clang-format-14 -i FILE"

tidy=off
all=off
files=()
while [ $# -gt 0 ]; do
  case $1 in
    -h | --help) echo "$usage" && exit 0 ;;
    --tidy) tidy=on ;;
    --all) all=on ;;
    -*) die "unknown option '$1' (see --help)" ;;
    *) files+=("$1") ;;
  esac
  shift
done

cd "$MLA_ROOT"
sources=("${files[@]}")
if [ ${#files[@]} -eq 0 ]; then
  mapfile -t sources < <(git ls-files --cached --others --exclude-standard -- '*.hpp' '*.cpp' '*.cu' '*.cuh')
fi

command -v clang-format-14 >/dev/null || install_packages clang-format-14
clang-format-14 --dry-run -Werror "${sources[@]}"
step "${#sources[@]} files are formatted"
if command -v shellcheck >/dev/null; then shellcheck --external-sources --source-path=ci ci/*.sh ci/slurm/*.sh suites/ci/*.sh .ci/run; fi
[ "$tidy" = on ] || exit 0

install_packages clang-tidy
[ -f build/ci/compile_commands.json ] || cmake --preset ci >/dev/null
if [ ${#files[@]} -eq 0 ] && [ "$all" = off ]; then
  mapfile -t sources < <(git diff --name-only --diff-filter=d "$(git merge-base HEAD main)" -- '*.cpp')
fi
# Only what the ci preset compiles: a file for a GPU has no command to check it with.
checkable=()
for source in "${sources[@]}"; do
  if grep -qF "\"file\": \"$MLA_ROOT/$source\"" build/ci/compile_commands.json; then checkable+=("$source"); fi
done
step "clang-tidy on ${#checkable[@]} files"
[ ${#checkable[@]} -eq 0 ] || printf '%s\0' "${checkable[@]}" |
  xargs -0 -n 1 -P "$MLA_JOBS" clang-tidy -p build/ci --quiet --warnings-as-errors='*'
