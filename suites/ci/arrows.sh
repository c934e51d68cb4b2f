#!/usr/bin/env bash
# arrows.sh ROOT RULES: fails, with a line each, where a source file under ROOT includes a header that RULES do not let it know.
set -euo pipefail
root=$1
rules=$(realpath "$2")

cd "$root"
folders=()
for folder in kernels reference harness reports suites ci; do [ ! -d "$folder" ] || folders+=("$folder"); done
find "${folders[@]}" -type f \( -name '*.hpp' -o -name '*.h' -o -name '*.cuh' -o -name '*.cpp' -o -name '*.cu' \) |
  sort | awk -v rules="$rules" '
  # The longest ruled folder that holds the path; "" if none.
  function owner(path) {
    while (path ~ /\//) {
      sub(/\/[^\/]*$/, "", path)
      if (path in allowed) return path
    }
    return ""
  }
  function holds(folder, path) { return path == folder || index(path, folder "/") == 1 }
  function may_know(from, to, i, n, list) {
    if (from == to) return 1
    n = split(allowed[from], list, " ")
    for (i = 1; i <= n; ++i) if (holds(list[i], to)) return 1
    return 0
  }
  function violation(text) { print file ":" number ": " text; ++violations }

  function check(included, from, to, place) {
    if (included ~ /(^|\/)\.\.\//) return violation("includes " included ": a path from the root is clearer and is checked")
    if (included ~ /^mla\//) included = "kernels/include/" included
    if (included !~ /^(kernels|reference|harness|reports|suites|ci)\//) return
    from = owner(file)
    to = owner(included)
    if (from == "") return violation("no rule for its folder in " rules)
    if (to == "") return violation("includes " included ": no rule for that folder in " rules)
    if (!may_know(from, to)) return violation("includes " included ": " from " must not know " to)
    place = index(included, "/detail/")
    if (place && !holds(substr(included, 1, place - 1), file)) return violation("includes " included ": detail of another folder")
  }

  BEGIN {
    while ((getline line < rules) > 0) {
      if (line ~ /^[ \t]*(#|$)/) continue
      folder = line
      sub(/:.*/, "", folder)
      sub(/^[^:]*:/, "", line)
      allowed[folder] = line
      ++rule_count
    }
    if (!rule_count) { print "no rules in " rules; exit 2 }
  }
  {
    file = $0
    ++files
    for (number = 1; (getline line < file) > 0; ++number) {
      if (line !~ /^[ \t]*#[ \t]*include[ \t]*["<]/) continue
      sub(/^[^"<]*["<]/, "", line)
      sub(/[">].*/, "", line)
      check(line)
    }
    close(file)
  }
  END {
    if (!files) { print "no source files"; exit 2 }
    if (!violations && rule_count) print files " files, no include against the rules"
    exit violations ? 1 : 0
  }'
