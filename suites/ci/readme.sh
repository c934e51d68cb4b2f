#!/usr/bin/env bash
# readme.sh ROOT BIN: checks every command in the ```sh blocks of ROOT/README.md, by the rules of readme_commands.txt, and
# that every line of its ```cpp blocks stands in the program that is compiled, kernels/example/decode.cpp.
# BIN holds the built programs. MLA_README names another document.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
root=$(realpath "$1")
bin=$(realpath "$2")
document=${MLA_README:-$root/README.md}

scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
mkdir -p "$scratch"/build/{cpu,ci} "$scratch/out"
ln -s "$bin" "$scratch/build/cpu/bin"
ln -s "$bin" "$scratch/build/ci/bin"
ln -s "$root/suites" "$scratch/suites"
export PATH=$bin:$PATH
failures=0
checked=0

# Commands one a line: continuation lines joined, comments and blank lines dropped. A block tagged otherwise than `sh`
# would escape the check, so it is an error.
commands() {
  awk '
    /^```(bash|shell|console|zsh)/ { print "tagged:" $0; next }
    /^```sh$/ { inside = 1; next }
    /^```/ { inside = 0; next }
    !inside { next }
    { sub(/[ \t]+#.*$/, ""); sub(/^#.*$/, "") }
    /\\$/ { sub(/[ \t]*\\$/, " "); held = held $0; next }
    { command = held $0; held = ""; gsub(/[ \t]+/, " ", command); sub(/ $/, "", command); if (command != "") print command }
  ' "$document"
}

cpp_lines() { awk '/^```cpp$/ { inside = 1; next } /^```/ { inside = 0; next } inside && NF { $1 = $1; print }' "$document"; }

rule_for() {
  local action expression
  while read -r action expression; do
    case $action in '' | '#'*) continue ;; esac
    if [[ $1 =~ ^($expression)$ ]]; then echo "$action" && return; fi
  done <"$here/readme_commands.txt"
}

complain() {
  echo "README: $1: $2"
  failures=$((failures + 1))
}

execute() {
  (cd "$scratch" && timeout 120 bash -c "$2" </dev/null >log 2>&1) ||
    complain "$1" "exit status $?: $(tail -n 3 "$scratch/log")"
}

check() {
  local command=$1 preset
  case $(rule_for "$command") in
    run) execute "$command" "$command" ;;
    dry) execute "$command" "$command --dry-run" ;;
    script) "$root/${command%% *}" --help >/dev/null 2>&1 || complain "$command" "no such script, or no --help" ;;
    preset)
      preset=$(sed -E 's/.*--preset ([a-z0-9]+).*/\1/' <<<"$command")
      (cd "$root" && cmake --list-presets) | grep -qF "\"$preset\"" || complain "$command" "no preset $preset" ;;
    elsewhere) ;;
    *) complain "$command" "nothing in readme_commands.txt says how it is checked" ;;
  esac
  checked=$((checked + 1))
}

while read -r action command; do
  [ "$action" != given ] || execute "given: $command" "$command"
done <"$here/readme_commands.txt"

while IFS= read -r command; do
  case $command in
    tagged:*) complain "${command#tagged:}" "tag command blocks \`\`\`sh" ;;
    *) check "$command" ;;
  esac
done < <(commands)

while IFS= read -r line; do
  awk '{ $1 = $1; print }' "$root/kernels/example/decode.cpp" | grep -qxF -- "$line" ||
    complain "$line" "is no line of kernels/example/decode.cpp"
done < <(cpp_lines)

echo "$checked commands checked, $failures failed"
[ "$checked" -gt 0 ] && [ "$failures" -eq 0 ]
