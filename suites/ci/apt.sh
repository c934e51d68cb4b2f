#!/usr/bin/env bash
# apt.sh ROOT: fails where anything but a script in ci/ calls the package manager. Documents may speak of it.
set -euo pipefail
cd "$1"
calls='\b(apt|apt-get|aptitude|dpkg|mmdebstrap|debootstrap)[ ]+(-|install|update|upgrade)'
if grep -rnE "$calls" --exclude-dir={.git,build,out,ci} --exclude='*.md' . .ci; then
  echo "only scripts in ci/ may call the package manager" >&2
  exit 1
fi
grep -qE "$calls" ci/lib.sh || { echo "the search finds nothing even in ci/lib.sh: the expression is wrong" >&2 && exit 1; }
