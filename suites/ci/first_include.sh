#!/usr/bin/env bash
# first_include.sh ROOT: fails where a source includes anything before the header of its own name: that include is what
# shows that the header compiles alone.
set -euo pipefail

# Names the sources under $1 that do.
late_includes() (
  cd "$1"
  find . -name '*.cpp' -not -path './build/*' -not -path './.*/*' -printf '%P\n' | while read -r source; do
    header=${source%.cpp}.hpp
    [ -f "$header" ] || continue
    [ "$(grep -m 1 '^#include' "$source" || true)" = "#include \"$header\"" ] || echo "$source: before \"$header\""
  done
)

planted=$(mktemp -d)
trap 'rm -r "$planted"' EXIT
mkdir "$planted/a"
touch "$planted/a/"{late,first}.hpp
printf '#include <map>\n#include "a/late.hpp"\n' >"$planted/a/late.cpp"
printf '// What it is.\n#include "a/first.hpp"\n#include <map>\n' >"$planted/a/first.cpp"
[ "$(late_includes "$planted")" = 'a/late.cpp: before "a/late.hpp"' ] || { echo "the planted fault was not seen" && exit 1; }

late=$(late_includes "$1")
[ -z "$late" ] || { echo "these sources include something first:" && echo "$late" && exit 1; }
