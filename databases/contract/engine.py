"""The base class of all engines: what an engine declares, and how it creates each role of the contract."""

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Final

from keybench.databases.contract.existing import Inspector
from keybench.databases.contract.questions import Question, Verdict
from keybench.databases.contract.roles import Address, Admin, OwnedSchema, Provision, Session, Settings
from keybench.databases.contract.settings import CacheSize, Profile, Setting
from keybench.databases.contract.statements import WritesStatements
from keybench.errors import UsageError, unknown_name
from keybench.model.byteorder import FixedBits
from keybench.model.column import Column
from keybench.model.keys import Kind
from keybench.model.load_path import Transport
from keybench.model.metric import Metric
from keybench.model.table import KeyRole, ServerKeys, Table
from keybench.model.transactions import Isolation
from keybench.model.url import scheme
from keybench.pagemodels.contract import PageModel, SizedByValue

DESCRIBED: Final = "server"
"""The name, among `Admin.versions`, of the words in which a server says what it is."""


@dataclass(frozen=True)
class Engine(ABC):
    """A database engine: its columns, its server kinds, and how to create each role of the contract."""

    name: str
    title: str
    columns: tuple[Column, ...]
    servers: tuple[str, ...]
    """The server kinds that keybench itself starts, the preferred one first."""
    url_schemes: tuple[str, ...] = ()
    drivers: tuple[str, ...] = ()
    """The import names of the Python packages that connect to it, the preferred one first. One of them is enough."""
    server_keys: tuple[ServerKeys, ...] = ()
    """Layouts whose keys its servers make themselves. Its sessions have `prepare_without_keys`."""
    absent: Mapping[Metric, str] = field(default_factory=dict)
    """Metrics that this engine can never give, with the reason."""
    paths: tuple[Transport, ...] = ("rows",)
    """How its sessions load rows. If `bulk` is among them, the sessions are `LoadsInBulk`."""
    aliases: tuple[str, ...] = ()
    """Other names by which people call it, beside its URL schemes."""
    isolations: tuple[Isolation, ...] = ()
    """Isolation levels that transactions can have. If there are any, its sessions have `isolate`, `begin`, `commit` and
    `rollback`."""
    key_roles: tuple[KeyRole, ...] = ("clustered", "nonclustered", "by-date", "fk")
    """The roles that the key can have in a table. Trials use the first one unless they name another."""
    make: str = ""
    """The beginning of the words in which its servers say what they are (`DESCRIBED`). Servers of others that speak the
    same protocol say something else: their answers do not count for this engine. Empty if there are no such others."""
    versions: Mapping[str, int] = field(default_factory=dict)
    """The versions that people run, as they write them (`postgresql:18`), oldest first. The numbers are in the form of
    `Setting.min_version`."""
    settings_of_versions: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    """Settings of tables by version, for versions on which pages split by other rules."""
    usual_role: KeyRole = "clustered"
    """The role of the key in a table whose author said nothing about it."""
    secondary_holds_key: bool = False
    """Whether each entry of the table's other indexes holds the key, as where the table is in key order."""
    creates_public_ids: bool = False
    """Whether its statements create tables with a `KeyedTable.public_id`."""
    rebuilds: bool = False
    """Whether its admins can `rebuild`."""
    updates_add_entries: bool = False
    """Whether an update of a row may add an entry to each of its indexes, for its new version."""
    updates: bool = False
    """Whether its sessions can `update` and read the `first` rows, and its tables have a `Table.status`."""
    fills: range = range(10, 101)
    """The fill factors, in %, at which its admins can build an index."""
    default_fill: int = 100
    """The fill factor, in %, at which it builds an index if nobody says otherwise."""
    page_bytes: int = 0
    """Size of an index page; 0 if the size of an empty index shows it."""
    caveat: str = ""
    """A sentence that every reader of its results must know; shown with each run."""
    settable: tuple[Setting, ...] = ()
    """Settings that users choose by name (`--set`); tables have the chosen ones in `Table.settings`."""
    inspects_by_document: bool = False
    """Whether its inspector follows documentation alone and was never run on a live server."""
    questions: tuple[Question, ...] = ()
    """What only a live server shows: `keybench verify` asks it."""

    @abstractmethod
    def settings(self, profile: Profile, cache: CacheSize) -> Settings:
        """The settings of cache, log, checkpoints and background work for a profile and cache size."""

    def configured(self, settings: Settings, chosen: Mapping[str, str]) -> Settings:
        """The settings with those of `settable` that the user chose (`chosen`), for servers that keybench starts."""
        return replace(settings, chosen=dict(chosen), values=self.values_with(settings, chosen))

    def values_with(self, settings: Settings, chosen: Mapping[str, str]) -> Mapping[str, str]:  # noqa: ARG002
        """The server's own settings (`Settings.values`) with those of `chosen` that are the server's; here none are."""
        return settings.values

    @abstractmethod
    def missing(self, server: str) -> str:
        """Why this server kind cannot be started here and what would help; empty if it can. Returns within 2 s."""

    def refuses(self, path: Transport, server: str) -> str:  # noqa: ARG002 (engines may look at the kind or URL)
        """Why rows cannot take that load path on a server of that kind or URL; empty if they can."""
        if path in self.paths:
            return ""
        return f"{self.title} does not load so: choose another database by --db."

    @abstractmethod
    def provision(self, server: str, settings: Settings) -> Provision:
        """A server of that kind (one of `servers`, or a URL of `url_schemes`), not yet started."""

    @abstractmethod
    def admin(self, address: Address) -> Admin:
        """A new administrative connection."""

    @abstractmethod
    def session(self, address: Address, table: Table) -> Session:
        """A new loading connection for that table."""

    @abstractmethod
    def bytes_per_row(self, column: Column, payload: int, key: KeyRole) -> tuple[float, float]:
        """Estimated bytes per row on disk: (the key's index when filled in order, everything including the log).

        If the key is a foreign key, a row is a row of the child table.
        """

    def page_model(self, table: Table, **parameters: float | str) -> PageModel | SizedByValue:  # noqa: ARG002
        """The model of the index that holds the table's key; `pagemodels.contract` feeds it keys.

        The engine's page model documents its parameters; those in the table's settings are its defaults. Raises
        UsageError for an unknown parameter, and for a table whose index the model cannot predict to the page, also
        because of a setting.
        """
        raise self.without_page_model()

    def reached_by(self, url: str) -> bool:
        """Whether a URL is that of a server of this engine, by its scheme: `mysql+pymysql://` is one of MySQL."""
        return scheme(url).partition("+")[0] in self.url_schemes

    @property
    def has_page_model(self) -> bool:
        """Whether this engine has a page model."""
        return type(self).page_model is not Engine.page_model

    def without_page_model(self) -> UsageError:
        """The error for what only a page model can do, if there is none."""
        return UsageError(f"there is no page model of {self.title}: measure on a server, or choose another database.")

    def owned_schema(self, url: str) -> OwnedSchema:  # noqa: ARG002 (every URL is refused)
        """What keybench owns on the server at a URL. Raises UsageError if the engine has no such servers."""
        raise UsageError(f"keybench leaves nothing on {self.title} servers of your own: leave out --server.")

    def statements(self) -> WritesStatements | None:
        """What writes statements for users to run; None if this engine has none."""
        return None

    def inspects(self, target: str) -> bool:
        """Whether the form of a URL or path says that it is a database that `inspector` can look at."""
        return type(self).inspector is not Engine.inspector and self.reached_by(target)

    def inspector(self, target: str) -> Inspector:  # noqa: ARG002 (every target is refused)
        """A read-only connection to a database that exists. EnvironmentMissing if it cannot be made, UsageError for a
        target that is wrong."""
        raise UsageError(f"keybench looks at no {self.title} databases.")

    def judge_file(self, path: Path) -> Iterator[tuple[str, Verdict]]:  # noqa: ARG002 (every file is refused)
        """For each index in a database's file: (what it looks like, whether the page model makes the same one).
        UsageError if the file cannot be read, and if the engine reads no files."""
        raise UsageError(f"keybench reads no files of {self.title}: leave out --file.")

    def functions(self) -> Mapping[str, str]:
        """SQL functions for users to install: by name, the script that creates each (`functions.scripts`)."""
        return {}

    def column(self, name: str) -> Column:
        """The column of that name. Raises UsageError with close matches if there is none."""
        for column in self.columns:
            if column.name == name:
                return column
        raise unknown_name(f"{self.name} column", name, [column.name for column in self.columns])

    def default_column(self, kind: Kind, bits: FixedBits | None = None) -> Column:
        """The column in which keys of that kind are measured if nobody names another: the native one.

        `bits` are the bits that all keys of a layout share. If the native column may refuse keys with these bits, the
        first column that accepts all of them is the default. Of several native columns that accept them, the narrowest
        is: integers of 32 bits go into a type of 32 bits. Without `bits` the first native column is the default. A
        column that imitates another server's order is never the default, because nobody's table has it.

        Raises UsageError if there is no column for that kind.
        """
        candidates = [column for column in self.columns if kind in column.kinds and not column.stands_in_for]
        if not candidates:
            raise UsageError(f"{self.name} has no column for {kind} keys.")
        # If none accepts all keys, all are considered; if none of these is native, the first one.
        accepting = [column for column in candidates if bits is None or column.accepts_all(bits)] or candidates
        native = [column for column in accepting if column.native] or accepting[:1]
        return native[0] if bits is None else min(native, key=lambda column: column.width)
