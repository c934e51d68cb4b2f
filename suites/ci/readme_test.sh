#!/usr/bin/env bash
# readme_test.sh ROOT: readme.sh must fail on commands that fail, are unknown or hide in a block tagged otherwise.
# shellcheck disable=SC2016 # the backquotes are Markdown
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
root=$1
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
failures=0

# A stand-in for the harness: its first argument is its exit status.
mkdir "$scratch/bin"
printf '#!/bin/sh\nexit "$1"\n' >"$scratch/bin/mla-harness"
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

expect pass '```sh\nmla-harness 0\n```'
expect pass '```sh\nbuild/cpu/bin/mla-harness 0   # comment\n```\n```text\nmla-harness 1\n```'
expect pass '```sh\nmla-harness \\\n  0\n```'
expect pass '```sh\nci/test.sh -R Decode\ncmake --preset asan\n```'
expect fail '```sh\nmla-harness 2\n```'
expect fail '```sh\nmla-harness \\\n  2\n```'
expect fail '```sh\nrm -rf out\n```'
expect fail '```sh\nci/absent.sh\n```'
expect fail '```sh\ncmake --preset absent\n```'
expect fail '```sh\nmla-harness 0\n```\n```bash\nmla-harness 0\n```'
expect fail 'no commands at all'

[ "$failures" -eq 0 ] && echo "every document was judged as expected"
exit "$((failures > 0))"
