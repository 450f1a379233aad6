#!/bin/sh
# Starts or stops a Docker daemon for this checkout alone: `daemon.sh start`, `daemon.sh stop`. It needs root.
#
# Its data, socket and log are in build/docker, or in the folder that a second argument names. It makes one bridge and
# changes no firewall rule (containers reach no network; their ports are reached through Docker's proxy), so a daemon of
# the system is not disturbed. It is never a system service. `. build/docker/environment` makes docker, Compose and
# keybench use it.
set -eu
cd "$(dirname "$0")/../.."
home=${2:-$PWD/build/docker}
number=$(($(printf %s "$home" | cksum | cut -d' ' -f1) % 200))
bridge=kbdocker$number

fail() {
  echo "keybench: $1" >&2
  exit 4
}

running() { [ -s "$home/pid" ] && [ "$(cat "/proc/$(cat "$home/pid")/comm" 2>/dev/null)" = dockerd ]; }

start() {
  running && return 0
  [ "$(id -u)" = 0 ] || fail "a Docker daemon needs root: run this as root."
  command -v dockerd >/dev/null || fail "there is no dockerd: apt-get install --no-install-recommends docker.io"
  [ ${#home} -le 60 ] || fail "$home is too long a path for Docker's sockets: use a checkout with a shorter path."
  mkdir -p "$home/bin" "$home/config"
  rm -f "$home/pid"
  # Debian's client: another `docker` may come first in PATH and not fit this daemon.
  [ ! -x /usr/bin/docker ] || ln -sf /usr/bin/docker "$home/bin/docker"
  cat >"$home/environment" <<END
export DOCKER_HOST=unix://$home/sock DOCKER_CONFIG=$home/config PATH=$home/bin:\$PATH
unset DOCKER_CONTEXT DOCKER_TLS_VERIFY DOCKER_CERT_PATH
END
  ip link show "$bridge" >/dev/null 2>&1 || ip link add "$bridge" type bridge
  ip address replace "10.213.$number.1/24" dev "$bridge"
  ip link set "$bridge" up
  PATH=/usr/sbin:/usr/bin:/sbin:/bin setsid dockerd --data-root "$home/data" --exec-root "$home/exec" \
    --containerd-namespace keybench --containerd-plugins-namespace keybench-plugins --pidfile "$home/pid" --host "unix://$home/sock" --bridge "$bridge" --group "$(id -gn)" \
    --iptables=false --ip-forward=false --ip-masq=false >"$home/log" 2>&1 </dev/null &
  begun=$!
  for _ in $(seq 300); do
    if curl --silent --fail --unix-socket "$home/sock" http://localhost/_ping >/dev/null 2>&1; then return 0; fi
    kill -0 $begun 2>/dev/null || break
    sleep 0.1
  done
  tail -n 5 "$home/log" >&2
  fail "the private Docker daemon does not start; its log is $home/log."
}

stop() {
  if running; then
    daemon=$(cat "$home/pid")
    kill "$daemon"
    for _ in $(seq 300); do
      [ -d "/proc/$daemon" ] || break
      sleep 0.1
    done
  fi
  # dockerd leaves a mount or two behind, and build/ could not be removed then.
  awk -v home="$home/" 'index($2, home) == 1 { print $2 }' /proc/mounts | sort -r | while read -r left; do
    umount --lazy "$left"
  done
  ! ip link show "$bridge" >/dev/null 2>&1 || ip link delete "$bridge"
}

case ${1:-} in
  start) start ;;
  stop) stop ;;
  *) fail "write daemon.sh start [FOLDER] or daemon.sh stop [FOLDER]." ;;
esac
