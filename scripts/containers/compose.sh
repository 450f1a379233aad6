#!/bin/sh
# Brings Docker Compose, as Debian has it, to the daemon of daemon.sh: `docker compose` then works with its environment.
set -eu
cd "$(dirname "$0")/../.."
# shellcheck source=/dev/null
. build/docker/environment
plugins=$DOCKER_CONFIG/cli-plugins
if docker compose version >/dev/null 2>&1; then exit 0; fi
echo "bringing Docker Compose"
mkdir -p "$plugins"
docker run --rm --network host --volume "$plugins:/plugins" keybench-debian:trixie sh -c '
  cd /tmp && apt-get update -qq && apt-get download -qq docker-compose && dpkg -x docker-compose_*.deb . &&
  cp usr/libexec/docker/cli-plugins/docker-compose /plugins' >build/docker/work/compose.log 2>&1 ||
  { tail -n 5 build/docker/work/compose.log >&2; exit 4; }
docker compose version >/dev/null
