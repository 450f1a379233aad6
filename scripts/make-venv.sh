#!/bin/sh
# Makes .venv with the given Python. Installs Debian's python3-venv if that is missing and we may install it.
set -eu
python=$1
[ -x .venv/bin/python ] && .venv/bin/python -m pip --version >/dev/null 2>&1 && exit 0
if "$python" -m venv .venv; then exit 0; fi
rm -rf .venv
if [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null; then
  apt-get update -qq && apt-get install -y -qq python3-venv
  exec "$python" -m venv .venv
fi
echo "keybench: $python cannot make a virtual environment here: install python3-venv (apt-get install python3-venv)." >&2
exit 4
