#!/usr/bin/env bash
# readme_test.sh ROOT: readme.sh must fail on commands that fail, are unknown or hide in a block tagged otherwise.
# shellcheck disable=SC2016 # the backquotes are Markdown
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
root=$1
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
failures=0

# A stand-in for the harness: succeeds unless its last argument is "fails", and writes what --out names.
mkdir "$scratch/bin"
cat >"$scratch/bin/mla-harness" <<'STANDIN'
#!/bin/sh
while [ $# -gt 1 ]; do
  [ "$1" != --out ] || : >"$2"
  shift
done
[ "$1" != fails ]
STANDIN
chmod +x "$scratch/bin/mla-harness"

# expect pass|fail TEXT: what readme.sh must say of a document that is TEXT.
expect() {
  printf '%b\n' "$2" >"$scratch/README.md"
  local got=pass output
  output=$(MLA_README=$scratch/README.md "$here/readme.sh" "$root" "$scratch/bin") || got=fail
  [ "$got" = "$1" ] && return
  printf 'expected %s, got %s for:\n%b\n%s\n' "$1" "$got" "$2" "$output"
  failures=$((failures + 1))
}

expect pass '```sh\nmla-harness works\n```'
expect pass '```sh\nbuild/cpu/bin/mla-harness works   # comment\n```\n```text\nmla-harness fails\n```'
expect pass '```sh\nmla-harness \\\n  works\n```'
expect pass '```sh\nci/test.sh -R Decode\ncmake --preset asan\n```'
expect fail '```sh\nmla-harness fails\n```'
expect fail '```sh\nmla-harness \\\n  fails\n```'
expect fail '```sh\nrm -rf out\n```'
expect fail '```sh\nci/absent.sh\n```'
expect fail '```sh\ncmake --preset absent\n```'
expect fail '```sh\nmla-harness works\n```\n```bash\nmla-harness works\n```'
expect pass '```sh\nmla-harness works\n```\n```cpp\n#include "mla/api.hpp"\n```'
expect fail '```sh\nmla-harness works\n```\n```cpp\n#include "mla/absent.hpp"\n```'
expect fail 'no commands at all'

[ "$failures" -eq 0 ] && echo "every document was judged as expected"
exit "$((failures > 0))"
