"""A private PostgreSQL server: its own data directory, reached by a socket that nobody else can open."""

from __future__ import annotations

import signal

import psycopg

from keybench.databases.contract import Address, Settings
from keybench.databases.hosting.private_folder import Kept
from keybench.databases.hosting.private_server import START_SECONDS, Private
from keybench.databases.postgresql import connection, installation
from keybench.databases.postgresql.ddl import SCHEMA
from keybench.errors import EnvironmentMissing

USER = "keybench"
_PORT = "5432"  # part of the socket's name; no port is opened

_INITDB = (
    "{installation}/bin/initdb",
    "--pgdata={folder}/data",
    f"--username={USER}",
    "--auth=trust",  # whoever can open the socket may enter: its folder has mode 700
    "--encoding=UTF8",
    "--locale=C",
    "--no-sync",
    "--no-instructions",
)
_OWN_SETTINGS = {
    "listen_addresses": "",
    "port": _PORT,
    "unix_socket_directories": "{folder}",
    "unix_socket_permissions": "0700",
}


class PrivateServer(Private):
    """A server of kind `embedded` or `local` with the given settings."""

    def __init__(self, kind: str, settings: Settings, timeout: float = START_SECONDS) -> None:
        """EnvironmentMissing where there are no programs of that kind; `timeout` in seconds is for the whole start."""
        found = installation.find(kind)
        if found is None:
            raise EnvironmentMissing(installation.missing(kind))
        self._kind = kind
        self._settings = settings
        options = [f"{name}={value}" for name, value in {**settings.values, **_OWN_SETTINGS}.items()]
        kept = Kept(
            "postgresql",
            installation=found,
            setup=[_INITDB],
            server=[
                "{installation}/bin/postgres",
                "-D",
                "{folder}/data",
                *(part for option in options for part in ("-c", option)),
            ],
            stop_signal=signal.SIGQUIT,  # at once, without a checkpoint of files that are deleted next
            parent_death_signal=signal.SIGQUIT,  # after SIGKILL its shared memory would stay
        )
        super().__init__("PostgreSQL", kept, timeout)

    def prepare(self) -> Address:
        """The database of the trials and the schema in it."""
        with self.first_answer(lambda: connection.connect(self._address("postgres"))) as admin:
            create_database(admin)
        address = self._address(USER)
        with connection.connect(address) as own:
            own.execute(f"CREATE SCHEMA {SCHEMA}")
        return address

    def _address(self, database: str) -> Address:
        folder = self._kept.folder
        parameters = {"host": str(folder), "port": _PORT, "user": USER, "dbname": database}
        parameters |= {"data": str(folder / "data"), "programs": f"{self._kept.installation}/bin"}
        return Address("postgresql", self._kind, parameters, self._settings)


def create_database(admin: psycopg.Connection) -> None:
    """The database of the trials, with the collation that people have: English by ICU where the server was built so.

    Only columns that name no collation (`char36-default`) feel it.
    """
    icu = admin.execute("SELECT count(*) FROM pg_collation WHERE collname = 'en-US-x-icu'").fetchone() == (1,)
    if icu and admin.info.server_version >= 150_000:
        admin.execute(f"CREATE DATABASE {USER} TEMPLATE template0 LOCALE_PROVIDER icu ICU_LOCALE 'en-US' LOCALE 'C'")
    else:
        admin.execute(f"CREATE DATABASE {USER} TEMPLATE template0")
