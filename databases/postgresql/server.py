"""A private PostgreSQL server: its own data directory, reached by a socket that nobody else can open."""

from __future__ import annotations

import signal
import time

import psycopg

from keybench.databases.engine import Address, Settings
from keybench.databases.postgresql import connection, installation
from keybench.databases.postgresql.table import SCHEMA
from keybench.databases.provision import Kept
from keybench.errors import EnvironmentMissing, ServerError

START_SECONDS = 60.0
USER = "keybench"
_PORT = "5432"  # part of the socket's name; no port is opened
_POLL_SECONDS = 0.02

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


class PrivateServer:
    """A server of kind `embedded` or `local` with the given settings."""

    def __init__(self, kind: str, settings: Settings, timeout: float = START_SECONDS) -> None:
        """EnvironmentMissing where there are no programs of that kind; `timeout` in seconds is for the whole start."""
        found = installation.find(kind)
        if found is None:
            raise EnvironmentMissing(installation.missing(kind))
        self._kind = kind
        self._settings = settings
        self._timeout = timeout
        options = [f"{name}={value}" for name, value in {**settings.values, **_OWN_SETTINGS}.items()]
        self._kept = Kept(
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

    def start(self) -> Address:
        """Starts it and waits until it answers: a second or two."""
        deadline = time.monotonic() + self._timeout
        self._kept.start(self._timeout)
        try:
            with self._wait(self._address("postgres"), deadline) as admin:
                create_database(admin)
            address = self._address(USER)
            with connection.connect(address) as own:
                own.execute(f"CREATE SCHEMA {SCHEMA}")
        except BaseException:
            self.stop()
            raise
        return address

    def stop(self) -> None:
        """Stops it and removes its files."""
        self._kept.stop()

    def alive(self) -> bool:
        """Whether it runs."""
        return self._kept.alive()

    def log_tail(self) -> str:
        """The last lines of its log."""
        return self._kept.log_tail()

    def _address(self, database: str) -> Address:
        folder = self._kept.folder
        parameters = {"host": str(folder), "port": _PORT, "user": USER, "dbname": database}
        parameters |= {"data": str(folder / "data"), "programs": f"{self._kept.installation}/bin"}
        return Address("postgresql", self._kind, parameters, self._settings)

    def _wait(self, address: Address, deadline: float) -> psycopg.Connection:
        while self._kept.alive():
            try:
                return connection.connect(address)
            except ServerError:
                if time.monotonic() > deadline:
                    raise EnvironmentMissing(self._explain(f"did not answer within {self._timeout:g} s")) from None
                time.sleep(_POLL_SECONDS)
        raise EnvironmentMissing(self._explain("ended while it started"))

    def _explain(self, problem: str) -> str:
        return (
            f"the private PostgreSQL server {problem}. The end of its log:\n{self.log_tail()}\n"
            "Mend that, or choose another --server."
        )


def create_database(admin: psycopg.Connection) -> None:
    """The database of the trials, with the collation that people have: English by ICU where the server was built so.

    Only columns that name no collation (`char36-default`) feel it.
    """
    icu = admin.execute("SELECT count(*) FROM pg_collation WHERE collname = 'en-US-x-icu'").fetchone() == (1,)
    if icu and admin.info.server_version >= 150_000:
        admin.execute(f"CREATE DATABASE {USER} TEMPLATE template0 LOCALE_PROVIDER icu ICU_LOCALE 'en-US' LOCALE 'C'")
    else:
        admin.execute(f"CREATE DATABASE {USER} TEMPLATE template0")
