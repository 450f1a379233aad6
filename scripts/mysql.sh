#!/bin/sh
# Unpacks a real MySQL into build/mysql where none is installed: Debian's packages (suite sid) with all their libraries,
# run by their own loader. It changes nothing else on the system and needs no root. keybench takes it as --server
# mysql=local. apt checks the packages' signatures as the machine has it set up. Where that cannot work, a note says why.
set -eu
cd "$(dirname "$0")/.."
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

keyring=/usr/share/keyrings/debian-archive-keyring.gpg
machine=$(uname -m)
[ "$machine" = x86_64 ] || note "it is unpacked for x86_64, and this machine is $machine"
for needed in apt-get dpkg-deb; do
  command -v $needed >/dev/null || note "it is unpacked from Debian's packages, and this machine has no $needed"
done
[ -r $keyring ] || note "it is unpacked from Debian's packages, and this machine has no $keyring"
# The machine's own mirror of Debian. Before its first `apt-get update`, apt does not know which one that is.
mirror=$(apt-get indextargets --format '$(REPO_URI)' 'Created-By: Packages' 'Origin: Debian' 2>/dev/null | head -n 1)

rm -rf "$work"
mkdir -p "$work/apt/lists/partial" "$work/apt/cache/archives/partial" "$work/root"
: >"$work/apt/status"
cat >"$work/apt/debian.sources" <<EOF
Types: deb
URIs: ${mirror:-http://deb.debian.org/debian}
Suites: sid
Components: main
Signed-By: $keyring
EOF
# The machine's settings (proxies, for one) hold, but not its hooks, which would work on the system.
cat >"$work/apt/conf" <<EOF
Dir { State "$work/apt"; State::lists "$work/apt/lists"; State::status "$work/apt/status"; Cache "$work/apt/cache"; };
Dir::Etc { sourcelist "$work/apt/debian.sources"; sourceparts "/dev/null"; preferences "/dev/null"; preferencesparts "/dev/null"; };
APT { Architecture "amd64"; Architectures { "amd64"; }; Sandbox::User ""; Update::Error-Mode "any"; };
Acquire { Retries "0"; Languages "none"; http::Timeout "10"; https::Timeout "10"; };
Debug::NoLocking "true";
#clear APT::Update::Pre-Invoke;
#clear APT::Update::Post-Invoke;
#clear APT::Update::Post-Invoke-Success;
#clear DPkg::Pre-Install-Pkgs;
#clear DPkg::Post-Invoke;
EOF
apt() {
  apt-get -qq -c "$work/apt/conf" "$@" >"$work/log" 2>&1
}
# apt's first error says what happened; the last one is often only that something did.
error() {
  { grep '^E: ' "$work/log" || cat "$work/log"; } | head -n 1 | sed 's/^E: //; s/  */ /g; s/\.*$//'
}
apt update || note "Debian's index cannot be used ($(error))"
apt install -o Acquire::Retries=2 --yes --download-only --no-install-recommends mysql-server-core mysql-client-core ||
  note "Debian's packages cannot be had ($(error))"
for package in "$work"/apt/cache/archives/*.deb; do
  dpkg-deb --extract "$package" "$work/root" 2>"$work/log" || note "$(basename "$package") cannot be unpacked ($(error))"
done

# What servers and clients need. Each program is started by the loader of its own libraries.
mkdir -p "$work/bin" "$work/lib/programs" "$work/share"
for name in mysqld mysql mysqldump; do
  mv "$work/root/usr/sbin/$name" "$work/lib/programs" 2>/dev/null || mv "$work/root/usr/bin/$name" "$work/lib/programs"
  cat >"$work/bin/$name" <<'EOF'
#!/bin/sh
home=$(cd "$(dirname "$0")/.." && pwd)
libraries=$home/lib/libraries
case NAME in
  mysqld) set -- "$@" "--basedir=$home" "--lc-messages-dir=$home/share/mysql" \
    "--character-sets-dir=$home/share/mysql/charsets" "--plugin-dir=$home/lib/mysql/plugin" --secure-file-priv=NULL ;;
esac
exec "$libraries/ld-linux-x86-64.so.2" --library-path "$libraries:$libraries/private" --argv0 "$0" "$home/lib/programs/NAME" "$@"
EOF
  sed -i "s/NAME/$name/g" "$work/bin/$name"
  chmod 755 "$work/bin/$name"
done
mv "$work/root/usr/lib/x86_64-linux-gnu" "$work/lib/libraries"
mv "$work/root/usr/lib/mysql" "$work/lib"
mv "$work/root/usr/share/mysql" "$work/share"
rm -rf "$work/root" "$work/apt" "$work/lib/libraries/perl" "$work/lib/libraries/perl-base" "$work/lib/libraries/gconv"

# A data directory to copy: it takes MySQL seconds to make one. It has neither keys nor a server's identity.
"$work/bin/mysqld" --no-defaults --initialize-insecure --user="$(id -un)" --datadir="$work/share/data" \
  --innodb-redo-log-capacity=8M --loose-skip-auto-generate-certs \
  --loose-skip-caching-sha2-password-auto-generate-rsa-keys --loose-skip-sha256-password-auto-generate-rsa-keys \
  >"$work/log" 2>&1 || note "the unpacked server does not start ($(grep ERROR "$work/log" | head -n 1))"
rm -f "$work/share/data/auto.cnf"
chmod -R a+rX "$work"
rm -rf build/mysql
mv "$work" build/mysql
