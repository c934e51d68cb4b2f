# Sourced by the scripts beside it: where the repository is, what a step prints, and the only calls of apt.
# shellcheck shell=bash

# shellcheck disable=SC2034 # used by the scripts that source this
MLA_ROOT=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
MLA_JOBS=${MLA_JOBS:-$(nproc)}
export CMAKE_BUILD_PARALLEL_LEVEL=$MLA_JOBS
# A machine that has ccache uses it; none is installed for this.
if command -v ccache >/dev/null; then export CMAKE_CXX_COMPILER_LAUNCHER=ccache; fi

# One line and exit status 3, "invalid environment" as in the harness itself.
die() {
  printf '%s: error: %s\n' "$(basename "$0")" "$*" >&2
  exit 3
}

# A heading with the time since the script began, so that a log shows where the minutes went.
step() { printf '[%4d s] %s\n' "$SECONDS" "$*" >&2; }

as_root() {
  if [ "$(id -u)" -eq 0 ]; then
    "$@"
  elif command -v sudo >/dev/null; then
    sudo "$@"
  else
    die "'$1' must run as root: run this script as root once, or install sudo"
  fi
}

# Debian packages among the arguments that are not installed, one a line.
missing_packages() {
  local package
  for package in "$@"; do
    case $(dpkg-query -W -f '${db:Status-Status}' "$package" 2>/dev/null) in
      installed) ;;
      *) echo "$package" ;;
    esac
  done
}

# Installs what is missing; asks apt nothing when nothing is.
install_packages() {
  command -v apt-get >/dev/null || die "needs a Debian system (12 or newer) with apt-get; elsewhere install by hand: $*"
  local list missing log
  list=$(missing_packages "$@")
  [ -n "$list" ] || return 0
  mapfile -t missing <<<"$list"
  step "installing ${#missing[@]} of $# Debian packages: ${missing[*]}"
  log=$(mktemp)
  # Package lists may be absent (a bare machine) or name versions that the mirror has replaced: always refresh first.
  if ! { as_root apt-get -qq update &&
    as_root env DEBIAN_FRONTEND=noninteractive apt-get -qq -o Dpkg::Use-Pty=0 install --yes --no-install-recommends \
      "${missing[@]}"; } >"$log" 2>&1; then
    tail -n 20 "$log" >&2
    die "apt-get could not install: ${missing[*]} (whole log: $log)"
  fi
  rm -f "$log"
}
