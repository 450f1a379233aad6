"""Servers of keybench's own: installed programs with a private data directory and socket, or a container.

Of Docker's official images, only those have been run that `make test-containers` builds to behave as documented.
"""

import os
import shutil
import signal
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import keybench
from keybench.databases.contract.roles import Address, Settings
from keybench.databases.hosting import container, docker_daemon, private_server
from keybench.databases.hosting.container import ContainerServer, Recipe
from keybench.databases.hosting.private_server import PrivateFolder, PrivateServer
from keybench.databases.mysql.ddl import SCHEMA
from keybench.databases.mysql.flavour import Flavour, flavour_named, flavour_of, option
from keybench.errors import EnvironmentMissing, UsageError

_UNPACKED = Path(keybench.__file__).parents[1] / "build" / "mysql"
"""Where `scripts/mysql.sh` unpacks a MySQL in a checkout."""
_FOLDERS = (str(_UNPACKED / "bin"), "/usr/sbin", "/usr/bin", "/usr/libexec", "/usr/local/bin", "/usr/local/mysql/bin")
_PREPARED, _PREPARED_PAGES = "share/data", "16K"
"""A data directory that lies beside that MySQL, and the size of its pages: to copy it takes a tenth of the time."""

_FROM_THE_START = "innodb_page_size", "innodb_redo_log_capacity"
"""Settings that a new MySQL is made with. A file of the log that suits another capacity does not keep its contents."""

_COUNTERS_ON = {"innodb_monitor_enable": "module_index"}
_SWITCHES = ("--skip-log-bin", "--skip-name-resolve")  # of a server in a container
_OWN_SETTINGS = {
    "datadir": "{folder}/data",
    "tmpdir": "{folder}",
    "socket": "{folder}/socket",
    "pid_file": "{folder}/pid",
    "skip_networking": "ON",
}
_WITHOUT_KEYS = (
    "--loose-skip-auto-generate-certs",
    "--loose-skip-caching-sha2-password-auto-generate-rsa-keys",
    "--loose-skip-sha256-password-auto-generate-rsa-keys",
)
"""Nobody reaches the server by TCP, and keys for that take seconds to make. Some versions lack some of them."""


def _paths(names: Iterable[str], folders: Sequence[str | None]) -> Iterator[Path]:
    """Where programs of these names are in the folders; None stands for all folders of PATH."""
    paths = (shutil.which(name, path=folder) for name in names for folder in folders)
    return (Path(path) for path in paths if path)


def program(flavour: Flavour) -> Path | None:
    """The server program of that flavour; None if it is not here. The version tells: a `mysqld` may be MariaDB's."""
    folder = private_server.folder_from_environment(flavour.name)
    for path in _paths(flavour.programs, (str(folder),) if folder else (None, *_FOLDERS)):
        text = private_server.version_text(path)
        if text and flavour_of(text) is flavour:
            return path
    return None


def installer() -> Path | None:
    """MariaDB's program that makes a data directory; None if it is not here. MySQL's server does that itself."""
    folder = private_server.folder_from_environment("mariadb")
    # In the folder that the user named, or in `bin` beside it, where tarballs have it.
    folders = (str(folder), str(folder.parent / "bin")) if folder else (None, "/usr/bin", "/usr/local/bin")
    return next(_paths(("mariadb-install-db", "mysql_install_db"), folders), None)


def account() -> str | None:
    """The user that packages of these servers make, where it is there; else None: `private_server` chooses one."""
    return "mysql" if os.geteuid() == 0 and private_server.has_user("mysql") else None


def missing(flavour: Flavour, server: str) -> str:
    """Why no server of that kind can be started here and what would bring one; empty where it can."""
    if server == container.KIND:
        return docker_daemon.missing(flavour.title, _alternative(flavour))
    if server != "local":
        raise UsageError(
            f"{flavour.name} has no server kind {server!r}: use container, local, or a {flavour.url_schemes[0]}:// URL."
        )
    return _local_missing(flavour)


def _alternative(flavour: Flavour) -> str:
    """What a user without a container can do, for messages."""
    url = f"give the URL of a server of yours, --server {flavour.url_schemes[0]}://user@host."
    return url if _local_missing(flavour) else f"choose --server {flavour.name}=local, which needs none, or {url}"


def _local_missing(flavour: Flavour) -> str:
    """Why no installed server can be started; empty where one can."""
    if sys.platform != "linux":
        return (
            f"private {flavour.title} servers run on Linux only: give the URL of yours, "
            f"--server {flavour.url_schemes[0]}://user@host."
        )
    if program(flavour) is None or (flavour.name == "mariadb" and installer() is None):
        if private_server.folder_from_environment(flavour.name):
            names = ", ".join([flavour.programs[0], *(["mariadb-install-db"] if flavour.name == "mariadb" else [])])
            return private_server.not_there(flavour.name, flavour.title, names)
        return f"no {flavour.title} server is installed: {flavour.install}."
    return ""


def _options(values: Mapping[str, str]) -> list[str]:
    return [option(name, value) for name, value in values.items()]


def _copyable(flavour: Flavour, server: Path) -> Path | None:
    """The folder of an unpacked server, which works wherever it is copied; None for a server of the system's."""
    homes = [_UNPACKED, *(folder.parent for folder in private_server.unpacked_folders(flavour.name))]
    return next((home for home in homes if server.is_relative_to(home)), None)


def _setup(flavour: Flavour, server: str, installation: Path | None, values: Mapping[str, str]) -> list[str]:
    """The command that makes the data directory of a server with these settings. `server` is the server's program;
    `installation` is the folder that it can be copied from, None if it cannot."""
    page_size = values["innodb_page_size"]
    if flavour.name == "mariadb":
        maker = installer()  # not None: else `missing` says so
        return [
            f"{{installation}}/bin/{maker.name}" if installation and maker else str(maker),
            "--no-defaults",
            "--datadir={folder}/data",
            f"--innodb-page-size={page_size}",
            "--auth-root-authentication-method=normal",  # no password: only this user can open the socket's folder
            "--skip-test-db",
            "--skip-name-resolve",
        ]
    if installation and page_size == _PREPARED_PAGES and (installation / _PREPARED).is_dir():
        return ["cp", "--recursive", "{installation}/" + _PREPARED, "{folder}/data"]
    made_with = _options({name: values[name] for name in _FROM_THE_START})
    return [server, "--no-defaults", "--initialize-insecure", "--datadir={folder}/data", *made_with, *_WITHOUT_KEYS]


class LocalServer(PrivateServer):
    """A server of kind `local` with the given settings."""

    def __init__(self, flavour: Flavour, kind: str, settings: Settings) -> None:
        """EnvironmentMissing where there is no server program, UsageError for another kind."""
        if reason := missing(flavour, kind):
            raise EnvironmentMissing(reason)
        self._flavour = flavour
        self._settings = settings
        server_program = program(flavour)
        assert server_program  # else it would be missing
        installation = _copyable(flavour, server_program)
        server = f"{{installation}}/bin/{server_program.name}" if installation else str(server_program)
        without_keys = _WITHOUT_KEYS if flavour.name == "mysql" else ()
        options = _options({**settings.values, **_OWN_SETTINGS, **_COUNTERS_ON})
        folder = PrivateFolder(
            flavour.name,
            setup=[_setup(flavour, server, installation, settings.values)],
            server=[server, "--no-defaults", "--skip-log-bin", *options, *without_keys],
            installation=installation,
            stop_signal=signal.SIGKILL,  # at once: its files are deleted next
            parent_death_signal=signal.SIGKILL,
            run_as=account(),
        )
        super().__init__(flavour.title, folder)

    def prepare(self) -> Address:
        """Waits for the first answer, and makes the database of the trials."""
        from keybench.databases.mysql import connection

        folder = self._private_folder.folder
        parameters = {"unix_socket": f"{folder}/socket", "user": "root", "data": f"{folder}/data"}
        address = Address(self._flavour.name, "local", parameters, self._settings)
        self.first_answer(lambda: connection.connect(address)).close()
        return _make_database(address)


def container_server(flavour: Flavour, settings: Settings) -> ContainerServer:
    """A server in a container with these settings, not yet started."""
    recipe = Recipe(
        engine=flavour.name,
        title=flavour.title,
        image=flavour.image,
        command=(*(option(name, value) for name, value in {**settings.values, **_COUNTERS_ON}.items()), *_SWITCHES),
        password_variable=f"{flavour.name.upper()}_ROOT_PASSWORD",
        user="root",
        port=3306,
        health=flavour.health,
        denied=("Access denied",),
    )
    return ContainerServer(recipe, settings, _make_database)


def _make_database(address: Address) -> Address:
    """Makes the database of the trials. Returns the address of this database."""
    from keybench.databases.mysql import connection

    with connection.connect(address) as admin, connection.server_errors(flavour_named(address.engine).title):
        admin.run(f"CREATE DATABASE IF NOT EXISTS {SCHEMA}")
    return replace(address, parameters={**address.parameters, "database": SCHEMA})
