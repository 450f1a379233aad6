#!/bin/sh
# Unpacks a real MySQL into build/mysql where none is installed: Debian's packages (suite sid) with all their libraries,
# run by their own loader. It changes nothing else on the system and needs no root. keybench takes it as --server
# mysql=local. apt checks the packages' signatures as the machine has it set up. Where that cannot work, a note says why.
set -eu
cd "$(dirname "$0")/.."
. scripts/unpack.sh
if [ -x build/mysql/bin/mysqldump ] && build/mysql/bin/mysqld --version >/dev/null 2>&1; then exit 0; fi
for program in $(command -v mysqld || true) /usr/sbin/mysqld; do
  if [ -x "$program" ] && "$program" --version 2>/dev/null | grep --quiet --invert-match MariaDB; then exit 0; fi
done

work=$PWD/build/mysql.new
note() {
  rm -rf "$work"
  echo "note: no MySQL: $1; tests that need it are left out." >&2
  exit 0
}

unpack "$work" sid mysql-server-core mysql-client-core

# What servers and clients need, in a folder that can be copied. Each program is started by the loader of its own libraries.
mkdir -p "$work/bin" "$work/lib" "$work/share"
mv "$work/root/usr/lib/x86_64-linux-gnu" "$work/root/usr/lib/mysql" "$work/lib"
mv "$work/root/usr/share/mysql" "$work/share"
for name in mysqld mysql mysqldump; do
  mv "$work/root/usr/sbin/$name" "$work/bin" 2>/dev/null || mv "$work/root/usr/bin/$name" "$work/bin"
done
own_loader "$work/bin/mysqld" "$work" '--basedir=$home' '--lc-messages-dir=$home/share/mysql' \
  '--character-sets-dir=$home/share/mysql/charsets' '--plugin-dir=$home/lib/mysql/plugin' --secure-file-priv=NULL
for name in mysql mysqldump; do own_loader "$work/bin/$name" "$work"; done
libraries=$work/lib/x86_64-linux-gnu
rm -rf "$work/root" "$libraries/perl" "$libraries/perl-base" "$libraries/gconv"

# A data directory to copy: it takes MySQL seconds to make one. It has neither keys nor a server's identity. The files of
# its log have the size of keybench's servers (databases/mysql/flavour.py), which make those for later use themselves.
"$work/bin/mysqld" --no-defaults --initialize-insecure --user="$(id -un)" --datadir="$work/share/data" \
  --innodb-redo-log-capacity=512M --loose-skip-auto-generate-certs \
  --loose-skip-caching-sha2-password-auto-generate-rsa-keys --loose-skip-sha256-password-auto-generate-rsa-keys \
  >"$work/log" 2>&1 || note "the unpacked server does not start ($(grep ERROR "$work/log" | head -n 1))"
rm -f "$work/share/data/auto.cnf" "$work/share/data/#innodb_redo/"*_tmp
chmod -R a+rX "$work"
rm -rf build/mysql
mv "$work" build/mysql
