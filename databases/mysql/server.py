"""A private server: its own data directory, reached by a socket that nobody else can open."""

from __future__ import annotations

import os
import pwd
import signal
from dataclasses import replace

from keybench.databases.contract import Address, Settings
from keybench.databases.hosting.private_folder import Kept
from keybench.databases.hosting.private_server import START_SECONDS, Private
from keybench.databases.mysql import connection, installation
from keybench.databases.mysql.ddl import SCHEMA
from keybench.databases.mysql.flavour import Flavour
from keybench.errors import EnvironmentMissing, UsageError

_OWN_SETTINGS = {
    "datadir": "{folder}/data",
    "tmpdir": "{folder}",
    "socket": "{folder}/socket",
    "pid_file": "{folder}/pid",
    "skip_networking": "ON",
    "innodb_monitor_enable": "module_index",
}


def _account() -> str | None:
    """The user that packages of these servers make, where it is there; else what `provision` chooses."""
    return "mysql" if os.geteuid() == 0 and "mysql" in {account.pw_name for account in pwd.getpwall()} else None


class PrivateServer(Private):
    """A server of kind `local` with the given settings."""

    def __init__(self, flavour: Flavour, kind: str, settings: Settings, timeout: float = START_SECONDS) -> None:
        """EnvironmentMissing where there is no server program; `timeout` in seconds is for the whole start."""
        if reason := installation.missing(flavour, kind):
            raise (UsageError if kind != "local" else EnvironmentMissing)(reason)
        self._flavour = flavour
        self._settings = settings
        program = str(installation.program(flavour))
        own = [f"--{name.replace('_', '-')}={value}" for name, value in {**settings.values, **_OWN_SETTINGS}.items()]
        if flavour.name == "mariadb":
            setup = [
                str(installation.installer()),
                "--no-defaults",
                "--datadir={folder}/data",
                "--auth-root-authentication-method=normal",  # whoever can open the socket may enter: its folder has 700
                "--skip-test-db",
                "--skip-name-resolve",
            ]
        else:
            setup = [program, "--no-defaults", "--initialize-insecure", "--datadir={folder}/data"]
        kept = Kept(
            flavour.name,
            setup=[setup],
            server=[program, "--no-defaults", "--skip-log-bin", *own],
            stop_signal=signal.SIGKILL,  # at once: nobody reads its files any more
            parent_death_signal=signal.SIGKILL,
            run_as=_account(),
        )
        super().__init__(flavour.title, kept, timeout)

    def prepare(self) -> Address:
        """The database of the trials."""
        folder = self._kept.folder
        parameters = {"unix_socket": f"{folder}/socket", "user": "root", "data": f"{folder}/data"}
        address = Address(self._flavour.name, "local", parameters, self._settings)
        first = self.first_answer(lambda: connection.connect(address))
        with first as admin, connection.server_errors(self._flavour.title):
            admin.run(f"CREATE DATABASE {SCHEMA}")
        return replace(address, parameters={**parameters, "database": SCHEMA})
