#!/bin/bash
# Starts PostgreSQL as https://hub.docker.com/_/postgres describes: the first start makes the cluster with the user,
# password and database of POSTGRES_USER, POSTGRES_PASSWORD and POSTGRES_DB. Until that is done, nothing listens on TCP.
set -Eeuo pipefail
user=${POSTGRES_USER:-postgres}
database=${POSTGRES_DB:-$user}
method=${POSTGRES_HOST_AUTH_METHOD:-scram-sha-256}

[ "${1:0:1}" != - ] || set -- postgres "$@"
[ "$1" = postgres ] || exec "$@"

if [ "$(id -u)" = 0 ]; then
  mkdir -p "$PGDATA" /var/run/postgresql /docker-entrypoint-initdb.d
  chown -R postgres: "$PGDATA" /var/run/postgresql
  chmod 700 "$PGDATA"
  exec setpriv --reuid=postgres --regid=postgres --init-groups "$0" "$@"
fi

if [ ! -s "$PGDATA/PG_VERSION" ]; then
  if [ -z "${POSTGRES_PASSWORD:-}" ] && [ "$method" != trust ]; then
    echo "Error: the database is not initialised and no superuser password is given: set POSTGRES_PASSWORD." >&2
    exit 1
  fi
  # shellcheck disable=SC2086  # several options
  initdb --pgdata="$PGDATA" --username="$user" --pwfile=<(printf '%s\n' "${POSTGRES_PASSWORD:-}") ${POSTGRES_INITDB_ARGS:-}
  echo "host all all all $method" >>"$PGDATA/pg_hba.conf"
  echo "listen_addresses = '*'" >>"$PGDATA/postgresql.conf"
  pg_ctl --pgdata="$PGDATA" --options="-c listen_addresses=''" --wait start
  [ "$database" = postgres ] || createdb --username="$user" --maintenance-db=postgres "$database"
  for file in /docker-entrypoint-initdb.d/*; do
    case $file in
      *.sh) bash "$file" ;;
      *.sql) psql --username="$user" --dbname="$database" --no-psqlrc --set=ON_ERROR_STOP=1 --file="$file" ;;
    esac
  done
  pg_ctl --pgdata="$PGDATA" --mode=fast --wait stop
  echo "PostgreSQL init process complete; ready for start up."
fi
exec "$@"
