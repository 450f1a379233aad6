"""The folder and files of SQLite's tables; connections; SQLite's errors as keybench's, with the next step."""

import shutil
from dataclasses import dataclass
from pathlib import Path

import apsw

from keybench.databases.contract.roles import Address, Settings
from keybench.databases.hosting.private_server import PrivateFolder, PrivateServer
from keybench.errors import ServerError

_NO_ROOM = 1 << 18  # bytes: with fewer free ones, a disk is full (the log's index grows by 32 KiB)


@dataclass(frozen=True)
class TableFiles:
    """The files of one table. It has a database of its own, so that dropping it leaves no pages in a free list."""

    folder: Path
    table: str

    @property
    def database(self) -> Path:
        """The database file. SQLite puts its `-wal` and `-shm` files beside it."""
        return self.folder / f"{self.table}.sqlite"

    def counters(self) -> list[Path]:
        """The files with the counters of loading connections, one for each (`SqliteSession.close`)."""
        return sorted(self.folder.glob(f"{self.table}.counters-*"))

    def new_counters(self, name: str) -> Path:
        """The file in which a loading connection writes its counters."""
        return self.folder / f"{self.table}.counters-{name}"

    def remove(self) -> None:
        """Removes all of these files that exist."""
        beside = [self.database.with_name(self.database.name + ending) for ending in ("-wal", "-shm", "-journal")]
        for path in (self.database, *beside, *self.counters()):
            path.unlink(missing_ok=True)


def files(address: Address, table: str) -> TableFiles:
    """The files of a table."""
    return TableFiles(Path(address.parameters["folder"]), table)


def settings_of(address: Address) -> Settings:
    """The settings of a server, which always has some, because only keybench starts one."""
    assert address.settings
    return address.settings


def connect(address: Address, database: Path, *, create: bool = False) -> apsw.Connection:
    """A connection to a database file, with the settings applied. Raises ServerError if it cannot be opened."""
    flags = apsw.SQLITE_OPEN_READWRITE | (apsw.SQLITE_OPEN_CREATE if create else 0)
    try:
        connection = apsw.Connection(str(database), flags=flags)
        for name, value in settings_of(address).values.items():
            connection.pragma(name, value)
    except apsw.Error as error:
        raise server_error(error, database.parent) from error
    return connection


def page_counts(connection: apsw.Connection) -> dict[str, int]:
    """SQLite's counters of a connection: pages `written` to the WAL or the file, those of them `spilled` in the middle
    of a transaction, and pages `missed` in its cache, so read."""
    kinds = {
        "written": apsw.SQLITE_DBSTATUS_CACHE_WRITE,
        "spilled": apsw.SQLITE_DBSTATUS_CACHE_SPILL,
        "missed": apsw.SQLITE_DBSTATUS_CACHE_MISS,
    }
    return {name: connection.status(kind)[0] for name, kind in kinds.items()}  # [1]: the highest so far


def server_error(error: apsw.Error, folder: Path) -> ServerError:
    """SQLite's error as ServerError, with the next step; `folder` has the table's files."""
    text = f"SQLite: {error}"
    if isinstance(error, apsw.FullError) or (isinstance(error, apsw.IOError) and _is_full(folder)):
        return ServerError(
            f"{text}: no room for the table. Free space on the disk of {folder}, or set KEYBENCH_TMP to a larger one."
        )
    if isinstance(error, apsw.IOError):
        return ServerError(f"{text}: {folder} cannot be written. Check its disk, or set KEYBENCH_TMP to another.")
    if isinstance(error, apsw.BusyError):
        return ServerError(f"{text}: another writer kept the table locked too long. Use fewer --writers.")
    if isinstance(error, apsw.ConstraintError):
        return ServerError(f"{text}: a key was sent twice. Check the layout for keys that repeat.")
    if isinstance(error, apsw.CantOpenError):
        return ServerError(f"{text}: the table's file in {folder} is gone. Run the trial again.")
    return ServerError(f"{text} ({type(error).__name__}). Its meaning is at https://sqlite.org/rescode.html.")


def _is_full(folder: Path) -> bool:
    """Whether the folder's disk has no room. For the table and the log, SQLite reports a full disk (`FullError`); for
    the log's index it says only that I/O failed."""
    try:
        return shutil.disk_usage(folder).free < _NO_ROOM
    except OSError:
        return False


class EmbeddedServer(PrivateServer):
    """A private folder, which is removed when the runner ends. No process runs in it."""

    def __init__(self, settings: Settings) -> None:
        super().__init__("SQLite", PrivateFolder(engine="sqlite"), timeout=10.0)
        self._settings = settings

    def prepare(self) -> Address:
        """The address of the folder."""
        return Address("sqlite", "embedded", {"folder": str(self._private_folder.folder)}, self._settings)

    def restart(self) -> None:
        """Does nothing: each connection has a cache of its own, which is empty at first."""
