#!/bin/sh
# Runs what needs a real Docker daemon: the tests of tests/containers, the contract suite and the owner's tests on
# containers. It starts a daemon for this checkout alone and stops it at the end; its images stay in build/docker.
#
# It needs root, and apt where docker.io or debootstrap is missing. With --if-possible it ends with 0 where that is not
# given, after saying so.
set -eu
cd "$(dirname "$0")/.."
python=${KEYBENCH_PYTHON:-.venv/bin/python}

skip() {
  echo "note: no test on containers: $1" >&2
  [ "$optional" = no ] || exit 0
  exit 4
}
optional=no
[ "${1:-}" != --if-possible ] || optional=yes

[ "$(id -u)" = 0 ] || skip "a Docker daemon of one's own needs root."
packages=
command -v dockerd >/dev/null || packages="docker.io"
command -v debootstrap >/dev/null || packages="$packages debootstrap"
if [ -n "$packages" ]; then
  command -v apt-get >/dev/null || skip "not installed:$packages"
  # shellcheck disable=SC2086  # one word a package
  sh scripts/install-packages.sh --no-install-recommends $packages
fi
sh scripts/containers/daemon.sh start || skip "no private Docker daemon can be started here."
trap 'sh scripts/containers/daemon.sh stop' EXIT
trap 'exit 130' INT TERM
sh scripts/containers/images.sh
sh scripts/containers/compose.sh
# shellcheck source=/dev/null
. build/docker/environment
export KEYBENCH_CONTAINERS=yes
$python -m pytest tests/containers
KEYBENCH_CONTRACT="postgresql=container mariadb=container mysql=container" $python -m pytest databases/contract_suite tests/databases/test_guests.py
