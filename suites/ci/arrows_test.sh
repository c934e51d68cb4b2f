#!/usr/bin/env bash
# Plants includes in a small tree: arrows.sh must name each forbidden one and pass the allowed ones.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
tree=$(mktemp -d)
trap 'rm -rf "$tree"' EXIT
failures=0

fresh_tree() {
  rm -rf "${tree:?}"/*
  mkdir -p "$tree"/{kernels/include/mla,kernels/decode,reference,reports,harness/core,harness/runner,suites/x}
  echo '#include "mla/view.hpp"' >"$tree/reference/decode.hpp"
  echo '#include <vector>' >"$tree/kernels/include/mla/view.hpp"
}

# expect pass|fail FILE LINE: what arrows.sh must say about a tree in which FILE has LINE.
expect() {
  fresh_tree
  mkdir -p "$tree/$(dirname "$2")"
  printf '#pragma once\n%s\n' "$3" >"$tree/$2"
  local got=pass output
  output=$("$here/arrows.sh" "$tree" "$here/arrows.txt") || got=fail
  [ "$1" = pass ] || grep -qF "$2:2: " <<<"$output" || got="fail without naming $2:2"
  [ "$got" = "$1" ] && return
  echo "$2 with '$3': expected $1, got $got: $output"
  failures=$((failures + 1))
}

expect fail kernels/decode/a.hpp '#include "reference/decode.hpp"'
expect fail kernels/include/mla/a.hpp '#include "kernels/decode/b.hpp"'
expect fail kernels/runtime/a.hpp '#include "kernels/decode/b.hpp"'
expect fail reference/a.cpp '#include "harness/core/error.hpp"'
expect fail reference/a.cpp '#include "kernels/decode/b.hpp"'
expect fail reports/a.cpp '#include "harness/core/error.hpp"'
expect fail reports/a.cpp '#include <mla/view.hpp>'
expect fail harness/core/a.cpp '  #  include "harness/runner/runner.hpp"'
expect fail harness/runner/a.cpp '#include "suites/support/x.hpp"'
expect fail harness/runner/a.cpp '#include "reports/detail/x.hpp"'
expect fail harness/runner/a.cpp '#include "../core/error.hpp"'
expect fail harness/unruled/a.cpp '#include "harness/core/error.hpp"'
expect fail ci/isa/a.cpp '#include "reports/report.hpp"'
expect pass harness/runner/a.cpp '#include "harness/core/error.hpp"'
expect pass harness/runner/a.cpp '// #include "suites/x.hpp"'
expect pass reports/compare/a.cpp '#include "reports/detail/x.hpp"'
expect pass kernels/decode/a.cpp '#include "kernels/merge/b.hpp"'
expect pass suites/x/a.cpp '#include "harness/runner/runner.hpp"'
expect pass reference/a.cpp '#include <Eigen/Dense>'

[ "$failures" -eq 0 ] && echo "every planted include was judged as expected"
exit "$((failures > 0))"
