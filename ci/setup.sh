#!/usr/bin/env bash
# Installs what the CPU build needs on Debian 12 or 13, as root or with sudo. A second run changes nothing and takes a moment.
set -euo pipefail
. "$(dirname "$0")/lib.sh"

usage="usage: ci/setup.sh [--torch on|off] [--charts on|off] [--browser] [--lint]
  --torch off   leave libtorch out (by far the largest package); configure with -DMLA_TORCH=OFF
  --charts off  the build fetches nothing; configure with -DMLA_CHARTS=OFF: the dashboard has its tables and no charts
  --browser     also the browser in which the dashboard is tested
  --lint        also what ci/lint.sh needs"

torch=on
charts=on
browser=off
lint=off
while [ $# -gt 0 ]; do
  case $1 in
    --torch)
      torch=${2:-}
      [ "$torch" = on ] || [ "$torch" = off ] || die "--torch takes on or off, not '$torch'"
      shift 2
      ;;
    --charts)
      charts=${2:-}
      [ "$charts" = on ] || [ "$charts" = off ] || die "--charts takes on or off, not '$charts'"
      shift 2
      ;;
    --browser) browser=on && shift ;;
    --lint) lint=on && shift ;;
    -h | --help) echo "$usage" && exit 0 ;;
    *) die "unknown argument '$1' (see --help)" ;;
  esac
done

packages=(g++ cmake ninja-build git
  libeigen3-dev libfmt-dev nlohmann-json3-dev libcli11-dev librandom123-dev libpugixml-dev
  libboost-dev libboost-context-dev libsqlite3-dev libsimdjson-dev
  libgtest-dev libgmock-dev libbenchmark-dev libvalijson-dev)
[ "$torch" = off ] || packages+=(libtorch-dev libopenblas0-pthread)
[ "$charts" = off ] || packages+=(ca-certificates)  # the charts' library is fetched over https
[ "$browser" = off ] || packages+=(chromium)
[ "$lint" = off ] || packages+=(clang-format-14 clang-tidy)

install_packages "${packages[@]}"

# Debian 12 ships 3.25; an older cmake put first in PATH by hand would only fail later and less clearly.
version=$(cmake --version | sed -n '1s/[^0-9]*//p')
[ "$(printf '%s\n3.25\n' "$version" | sort -V | head -n 1)" = 3.25 ] || die "cmake $version is too old: 3.25 or newer is needed"
