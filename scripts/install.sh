#!/bin/sh
# `install.sh PYTHON EXTRAS`: makes .venv and installs this checkout into it with these extras, by uv where pip can bring
# it (it takes a sixth of the time), else by pip alone.
set -eu
echo "installing keybench[$2] into .venv, once …" >&2
sh scripts/make-venv.sh "$1"
python=.venv/bin/python
quiet=--quiet
[ ! -t 2 ] || quiet= # somebody is watching
set -- --constraint constraints.txt --editable ".[$2]"
# uv does not read pip's configuration. Where it cannot reach what pip can, pip installs.
index=$($python -m pip config get global.index-url 2>/dev/null || true)
if $python -m pip install --quiet --disable-pip-version-check --constraint constraints.txt uv 2>/dev/null &&
  $python -m uv pip install $quiet ${index:+--default-index "$index"} "$@"; then
  exit 0
fi
exec $python -m pip install --quiet --disable-pip-version-check "$@"
