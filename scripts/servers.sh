#!/bin/sh
# Brings what the tests use beyond the virtual environment: Debian's PostgreSQL with contrib, beside the embedded one.
# It is never started as a system service: the package's own cluster is not created and no service may start.
set -eu
if command -v postgres >/dev/null || ls /usr/lib/postgresql/*/bin/postgres >/dev/null 2>&1; then exit 0; fi
if [ "$(id -u)" != 0 ] || ! command -v apt-get >/dev/null; then
  echo "note: no local PostgreSQL: tests of the server kind 'local' are skipped (apt-get install postgresql brings it)." >&2
  exit 0
fi
policy=/usr/sbin/policy-rc.d
mkdir -p /etc/postgresql-common
[ -e /etc/postgresql-common/createcluster.conf ] || echo "create_main_cluster = false" >/etc/postgresql-common/createcluster.conf
if [ ! -e $policy ]; then
  printf '#!/bin/sh\nexit 101\n' >$policy
  chmod 755 $policy
  trap 'rm -f $policy' EXIT
fi
apt-get update -qq
DEBIAN_FRONTEND=noninteractive apt-get install -y -qq postgresql
