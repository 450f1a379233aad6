"""Where MySQL's and MariaDB's server programs are on this machine."""

from __future__ import annotations

import shutil
import subprocess
import sys
from functools import cache
from pathlib import Path

from keybench.databases.hosting import container
from keybench.databases.mysql.flavour import Flavour, spoken
from keybench.errors import UsageError

_PLACES = ("/usr/sbin", "/usr/bin", "/usr/libexec", "/usr/local/bin", "/usr/local/mysql/bin")


@cache
def _version(program: str) -> str:
    try:
        return subprocess.run([program, "--version"], capture_output=True, text=True, timeout=2, check=True).stdout
    except (OSError, subprocess.SubprocessError):
        return ""


def program(flavour: Flavour) -> Path | None:
    """The server program of that flavour; what is called mysqld may be MariaDB's, so it is asked."""
    for name in flavour.programs:
        for found in (shutil.which(name), *(shutil.which(name, path=place) for place in _PLACES)):
            if found and (said := _version(found)) and spoken(said) is flavour:
                return Path(found)
    return None


def installer() -> Path | None:
    """MariaDB's program that makes a data directory; MySQL's server does that itself."""
    for name in ("mariadb-install-db", "mysql_install_db"):
        if found := shutil.which(name) or shutil.which(name, path="/usr/bin:/usr/local/bin"):
            return Path(found)
    return None


def _instead(flavour: Flavour) -> str:
    url = f"give the URL of a server of yours, --server {flavour.url_schemes[0]}://user@host."
    return url if local_missing(flavour) else f"choose --server {flavour.name}=local, which needs none, or {url}"


def missing(flavour: Flavour, server: str) -> str:
    """Why no server of that kind can be started here and what would bring one; empty where it can."""
    if server == container.KIND:
        return container.missing(flavour.title, _instead(flavour))
    if server != "local":
        raise UsageError(
            f"{flavour.name} has no server kind {server!r}: use container, local, or a {flavour.url_schemes[0]}:// URL."
        )
    return local_missing(flavour)


def local_missing(flavour: Flavour) -> str:
    """Why no installed server can be started; empty where one can."""
    if sys.platform != "linux":
        return (
            f"private {flavour.title} servers run on Linux only: give the URL of yours, "
            f"--server {flavour.url_schemes[0]}://user@host."
        )
    if program(flavour) is None or (flavour.name == "mariadb" and installer() is None):
        return f"no {flavour.title} server is installed: {flavour.install}."
    return ""
