#!/bin/sh
# Unpacks a real MySQL into build/mysql where none is installed: Debian's packages (suite sid) with all their libraries,
# run by their own loader. It changes nothing else on the system and needs no root. keybench takes it as --server
# mysql=local. apt checks the packages' signatures as the machine has it set up. Where that cannot work, a note says why.
set -eu
cd "$(dirname "$0")/.."
if [ -x build/mysql/bin/mysqld ] && build/mysql/bin/mysqld --version >/dev/null 2>&1; then exit 0; fi
for program in $(command -v mysqld || true) /usr/sbin/mysqld; do
  if [ -x "$program" ] && "$program" --version 2>/dev/null | grep --quiet --invert-match MariaDB; then exit 0; fi
done

note() {
  echo "note: no MySQL: $1; tests that need it are skipped." >&2
  exit 0
}

keyring=/usr/share/keyrings/debian-archive-keyring.gpg
machine=$(uname -m)
[ "$machine" = x86_64 ] || note "the packages are unpacked for x86_64, and this is $machine"
command -v apt-get >/dev/null && command -v dpkg >/dev/null && [ -r $keyring ] ||
  note "it is unpacked from Debian's packages, for which this machine lacks apt, dpkg or Debian's keyring"
mirror=$(apt-get indextargets --format '$(REPO_URI)' 'Created-By: Packages' 'Origin: Debian' 2>/dev/null | head -n 1)

work=$PWD/build/mysql.new
rm -rf "$work"
mkdir -p "$work/state/lists/partial" "$work/cache/archives/partial" "$work/root"
: >"$work/state/status"
cat >"$work/debian.sources" <<EOF
Types: deb
URIs: ${mirror:-http://deb.debian.org/debian}
Suites: sid
Components: main
Signed-By: $keyring
EOF
apt() {
  apt-get -qq -o Dir::State="$work/state" -o Dir::State::lists="$work/state/lists" -o Dir::State::status="$work/state/status" \
    -o Dir::Cache="$work/cache" -o Dir::Etc::sourcelist="$work/debian.sources" -o Dir::Etc::sourceparts=- \
    -o Dir::Etc::preferencesparts=- -o Dir::Etc::preferences=- -o APT::Architecture=amd64 -o APT::Get::List-Cleanup=false \
    -o APT::Sandbox::User= -o Debug::NoLocking=true "$@" >>"$work/log" 2>&1
}
apt update || note "Debian's index cannot be used ($(tail -n 1 "$work/log"))"
apt install --yes --download-only --no-install-recommends mysql-server-core mysql-client-core ||
  note "its packages cannot be downloaded ($(tail -n 1 "$work/log"))"
for package in "$work"/cache/archives/*.deb; do dpkg-deb --extract "$package" "$work/root"; done
rm -rf "$work/cache" "$work/state" "$work/root/usr/share/doc" "$work/root/usr/share/man"

# Each program is started by the loader of its own libraries.
mkdir -p "$work/bin"
for name in mysqld mysql; do
  cat >"$work/bin/$name" <<'EOF'
#!/bin/sh
root=$(cd "$(dirname "$0")/../root" && pwd)
program=$(ls "$root/usr/sbin/NAME" "$root/usr/bin/NAME" 2>/dev/null | head -n 1)
libraries=$root/usr/lib/x86_64-linux-gnu
case NAME in
  mysqld) set -- "$@" "--basedir=$root/usr" "--lc-messages-dir=$root/usr/share/mysql" \
    "--character-sets-dir=$root/usr/share/mysql/charsets" "--plugin-dir=$root/usr/lib/mysql/plugin" --secure-file-priv=NULL ;;
esac
exec "$libraries/ld-linux-x86-64.so.2" --library-path "$libraries:$libraries/private" --argv0 "$program" "$program" "$@"
EOF
  sed -i "s/NAME/$name/g" "$work/bin/$name"
  chmod 755 "$work/bin/$name"
done
rm -rf build/mysql
mv "$work" build/mysql
build/mysql/bin/mysqld --version >/dev/null || note "the unpacked server does not start (build/mysql/bin/mysqld --version)"
