#!/bin/bash
# Starts MySQL as https://hub.docker.com/_/mysql describes: the first start makes the data directory, gives root the
# password of MYSQL_ROOT_PASSWORD, and makes MYSQL_DATABASE and MYSQL_USER. Until that is done, nothing listens on TCP.
set -Eeuo pipefail
folder=/var/lib/mysql
socket=/var/run/mysqld/mysqld.sock

[ "${1:0:1}" != - ] || set -- mysqld "$@"
[ "$1" = mysqld ] || exec "$@"

if [ "$(id -u)" = 0 ]; then
  mkdir -p "$folder" /var/run/mysqld /docker-entrypoint-initdb.d
  chown -R mysql: "$folder" /var/run/mysqld
  exec setpriv --reuid=mysql --regid=mysql --init-groups "$0" "$@"
fi

fail() {
  echo "[ERROR] [Entrypoint]: $1" >&2
  exit 1
}

# given NAME: the value of the variable NAME, or the content of the file that NAME_FILE names.
given() {
  local file=$1_FILE
  if [ -n "${!1:-}" ] && [ -n "${!file:-}" ]; then fail "both $1 and $file are set: set one of them."; fi
  if [ -n "${!file:-}" ]; then cat "${!file}"; else printf %s "${!1:-}"; fi
}

# A text between quotes in SQL.
quoted() {
  local text=${1//\\/\\\\}
  printf "'%s'" "${text//\'/\\\'}"
}

if [ ! -d "$folder/mysql" ]; then
  password=$(given MYSQL_ROOT_PASSWORD)
  user_password=$(given MYSQL_PASSWORD)
  if [ -z "$password" ] && [ -z "${MYSQL_ALLOW_EMPTY_PASSWORD:-}" ]; then
    fail "the database is not initialised and no password is given: set MYSQL_ROOT_PASSWORD."
  fi
  "$@" --initialize-insecure
  "$@" --skip-networking --mysqlx=OFF --socket="$socket" &
  server=$!
  until mysql --no-defaults --socket="$socket" --user=root --execute="SELECT 1" >/dev/null 2>&1; do
    kill -0 $server 2>/dev/null || exit 1
    sleep 0.1
  done
  host=$(quoted "${MYSQL_ROOT_HOST:-%}")
  {
    [ -z "${MYSQL_DATABASE:-}" ] || echo "CREATE DATABASE IF NOT EXISTS \`$MYSQL_DATABASE\`;"
    if [ "$host" != "'localhost'" ]; then
      echo "CREATE USER root@$host IDENTIFIED BY $(quoted "$password");"
      echo "GRANT ALL ON *.* TO root@$host WITH GRANT OPTION;"
    fi
    if [ -n "${MYSQL_USER:-}" ] && [ -n "$user_password" ]; then
      echo "CREATE USER $(quoted "$MYSQL_USER")@'%' IDENTIFIED BY $(quoted "$user_password");"
      [ -z "${MYSQL_DATABASE:-}" ] || echo "GRANT ALL ON \`$MYSQL_DATABASE\`.* TO $(quoted "$MYSQL_USER")@'%';"
    fi
    echo "ALTER USER root@localhost IDENTIFIED BY $(quoted "$password");"
  } | mysql --no-defaults --socket="$socket" --user=root
  for file in /docker-entrypoint-initdb.d/*; do
    case $file in
      *.sh) bash "$file" ;;
      *.sql) MYSQL_PWD=$password mysql --socket="$socket" --user=root "${MYSQL_DATABASE:-mysql}" <"$file" ;;
    esac
  done
  kill $server
  wait $server
  echo "[Note] [Entrypoint]: MySQL init process done. Ready for start up."
fi
exec "$@"
