#!/bin/sh
# Installs what the tests use beyond the virtual environment: Debian's PostgreSQL with contrib (beside the embedded one),
# Debian's MariaDB, Chromium for looking at reports, and MySQL, unpacked into build/. It never starts a system service
# and creates no cluster.
set -eu
packages=
if ! command -v postgres >/dev/null && ! ls /usr/lib/postgresql/*/bin/postgres >/dev/null 2>&1; then
  packages="$packages postgresql"
fi
if ! command -v mariadbd >/dev/null && [ ! -x /usr/sbin/mariadbd ]; then packages="$packages mariadb-server"; fi
if ! command -v chromium >/dev/null; then packages="$packages chromium"; fi
if [ -n "$packages" ]; then
  if [ "$(id -u)" != 0 ] || ! command -v apt-get >/dev/null; then
    echo "note: not installed:$packages; tests that need them are skipped (apt-get install$packages)." >&2
  else
    mkdir -p /etc/postgresql-common
    [ -e /etc/postgresql-common/createcluster.conf ] ||
      echo "create_main_cluster = false" >/etc/postgresql-common/createcluster.conf
    # shellcheck disable=SC2086  # one word a package
    sh scripts/install-packages.sh $packages
  fi
fi
sh scripts/mysql.sh
