#!/bin/bash
# Starts MariaDB as https://hub.docker.com/_/mariadb describes: the first start makes the data directory, gives root the
# password of MARIADB_ROOT_PASSWORD, and makes MARIADB_DATABASE. Until that is done, nothing listens on TCP.
set -Eeuo pipefail
folder=/var/lib/mysql
socket=/run/mysqld/mysqld.sock
password=${MARIADB_ROOT_PASSWORD:-${MYSQL_ROOT_PASSWORD:-}}

[ "${1:0:1}" != - ] || set -- mariadbd "$@"
[ "$1" = mariadbd ] || exec "$@"

if [ "$(id -u)" = 0 ]; then
  mkdir -p "$folder" /run/mysqld /docker-entrypoint-initdb.d
  chown -R mysql: "$folder" /run/mysqld
  exec setpriv --reuid=mysql --regid=mysql --init-groups "$0" "$@"
fi

if [ ! -d "$folder/mysql" ]; then
  if [ -z "$password" ] && [ -z "${MARIADB_ALLOW_EMPTY_ROOT_PASSWORD:-}" ]; then
    echo "[ERROR] [Entrypoint]: the database is not initialised and no password is given: set MARIADB_ROOT_PASSWORD." >&2
    exit 1
  fi
  mariadb-install-db --datadir="$folder" --auth-root-authentication-method=normal --skip-test-db --skip-name-resolve
  "$@" --skip-networking --socket="$socket" &
  server=$!
  until mariadb --socket="$socket" --user=root --execute="SELECT 1" >/dev/null 2>&1; do
    kill -0 $server 2>/dev/null || exit 1
    sleep 0.1
  done
  quoted=${password//\\/\\\\}
  quoted=${quoted//\'/\\\'}
  {
    [ -z "${MARIADB_DATABASE:-}" ] || echo "CREATE DATABASE IF NOT EXISTS \`$MARIADB_DATABASE\`;"
    echo "DROP USER IF EXISTS root@'127.0.0.1', root@'::1', root@'$(hostname)';"
    echo "CREATE USER root@'${MARIADB_ROOT_HOST:-%}' IDENTIFIED BY '$quoted';"
    echo "GRANT ALL ON *.* TO root@'${MARIADB_ROOT_HOST:-%}' WITH GRANT OPTION;"
    echo "SET PASSWORD FOR root@localhost = PASSWORD('$quoted');"
  } | mariadb --socket="$socket" --user=root
  for file in /docker-entrypoint-initdb.d/*; do
    case $file in
      *.sh) bash "$file" ;;
      *.sql) MYSQL_PWD=$password mariadb --socket="$socket" --user=root "${MARIADB_DATABASE:-mysql}" <"$file" ;;
    esac
  done
  kill $server
  wait $server
  echo "[Note] [Entrypoint]: MariaDB init process done. Ready for start up."
fi
exec "$@"
