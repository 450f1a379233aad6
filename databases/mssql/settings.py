"""The settings of servers that keybench starts, in one table, and the options of SQL Server beyond a run's own.

All other settings have the server's defaults. Options come from a URL's query or the environment:

| option | environment | choices |
|---|---|---|
| `driver` | `KEYBENCH_MSSQL_DRIVER` | `mssql-python` (preferred where installed) or `pyodbc` |
| `odbc_driver` | `KEYBENCH_MSSQL_ODBC_DRIVER` | for pyodbc: the name or the path of Microsoft's ODBC driver |
| `fill_factor` | `KEYBENCH_MSSQL_FILL_FACTOR` | 1 … 100 of the key's index; only rebuilds use it, inserts do not |
| `pad_index` | `KEYBENCH_MSSQL_PAD_INDEX` | `on`: rebuilds leave free space above the leaves too |
| `sequential_key` | `KEYBENCH_MSSQL_SEQUENTIAL_KEY` | `on`: OPTIMIZE_FOR_SEQUENTIAL_KEY of the key's index |
| `row_versioning` | `KEYBENCH_MSSQL_ROW_VERSIONING` | `off`, `rcsi`, `snapshot` or `adr`: each adds 14 bytes to a row |
| `beneath` | `KEYBENCH_MSSQL_BENEATH` | under a nonclustered key: `clustered` (a bigint, by arrival) or `heap` |
| `encrypt`, `trust_certificate` | `KEYBENCH_MSSQL_ENCRYPT` … | `yes` or `no`, as ODBC has them |

All of them are recorded with a result. `--set NAME=VALUE` chooses those in `SETTABLE`, before URL and environment.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields

import psutil

from keybench.databases.contract.options import CacheSize, Profile
from keybench.databases.contract.roles import Settings
from keybench.databases.contract.setting import Setting
from keybench.databases.core.engine_options import chosen
from keybench.errors import UsageError, unknown_name

MB = 1 << 20

MEMORY_MB: dict[CacheSize, int] = {"default": 2048, "small": 1024}
"""`max server memory`. SQL Server has no setting for the page cache alone; most of this memory is page cache."""

PROFILES: dict[Profile, str] = {"durable": "DISABLED", "fast": "FORCED"}
"""Delayed durability of the database: `FORCED` acknowledges commits before the log is on disk."""


def for_profile(profile: Profile, cache: CacheSize) -> Settings:
    """The settings of a profile and cache size on this machine; never more than half of its memory."""
    half = psutil.virtual_memory().total // 2 // MB
    megabytes = max(512, min(MEMORY_MB[cache], half))
    values = {"max_server_memory_mb": str(megabytes), "delayed_durability": PROFILES[profile]}
    return Settings(profile, megabytes * MB, values)


def statements(settings: Settings) -> tuple[str, ...]:
    """The statements that set them on a server of ours, on a connection to master."""
    return (
        "EXEC sys.sp_configure N'show advanced options', 1",
        "RECONFIGURE",
        f"EXEC sys.sp_configure N'max server memory (MB)', {settings.values['max_server_memory_mb']}",
        "EXEC sys.sp_configure N'max degree of parallelism', 1",
        "RECONFIGURE",
    )


_CHOICES = {
    "driver": ("auto", "mssql-python", "pyodbc"),
    "pad_index": ("off", "on"),
    "sequential_key": ("off", "on"),
    "row_versioning": ("off", "rcsi", "snapshot", "adr"),
    "beneath": ("heap", "clustered"),
    "encrypt": ("yes", "no"),
    "trust_certificate": ("yes", "no"),
}


@dataclass(frozen=True)
class Options:
    """The options by name; the defaults are those of keybench."""

    driver: str = "auto"
    odbc_driver: str = ""
    fill_factor: str = "100"
    pad_index: str = "off"
    sequential_key: str = "off"
    row_versioning: str = "off"
    beneath: str = "heap"
    encrypt: str = "yes"
    trust_certificate: str = "yes"

    def __post_init__(self) -> None:
        for name, known in _CHOICES.items():
            if getattr(self, name) not in known:
                raise unknown_name(f"SQL Server option {name}", getattr(self, name), known)
        if not (self.fill_factor.isdecimal() and 1 <= int(self.fill_factor) <= 100):
            raise UsageError(f"SQL Server option fill_factor {self.fill_factor!r}: choose a number from 1 to 100.")

    def parameters(self) -> dict[str, str]:
        """The options as parameters of an address."""
        return asdict(self)


NAMES = frozenset(field.name for field in fields(Options))


def options(given: Mapping[str, str]) -> Options:
    """The options in `given` (a URL's query or an address's parameters), else the environment's, else the defaults.

    UsageError for a value that is none of the choices.
    """
    return Options(**chosen("mssql", NAMES, given))


SETTABLE = (
    Setting(
        "row_versioning",
        "row versions of the database: each kind adds 14 bytes to a row",
        "off",
        "server",
        _CHOICES["row_versioning"],
    ),
    Setting("beneath", "what is beneath a nonclustered key", "heap", "table", _CHOICES["beneath"]),
    Setting(
        "fill_factor", "FILLFACTOR of the key's index: only rebuilds use it", "100", "table", numbers=range(1, 101)
    ),
    Setting(
        "pad_index", "PAD_INDEX: rebuilds leave free space above the leaves too", "off", "table", _CHOICES["pad_index"]
    ),
    Setting(
        "sequential_key", "OPTIMIZE_FOR_SEQUENTIAL_KEY of the key's index", "off", "table", _CHOICES["sequential_key"]
    ),
)


VERSIONING = ("read_committed_snapshot", "snapshot_isolation", "accelerated_database_recovery")
"""What a database's row versioning follows from."""


def versioning(committed: object, snapshot: object, accelerated: object) -> str:
    """The database's row versioning, from the columns of sys.databases; the first kind where there are several."""
    kinds = (("rcsi", bool(committed)), ("snapshot", snapshot != "OFF"), ("adr", bool(accelerated)))
    return next((kind for kind, on in kinds if on), "off")


def model_parameters(settings: Mapping[str, str]) -> dict[str, str | bool]:
    """The page model's parameters for a table with these settings, else those of the environment."""
    chosen = options(settings)
    beneath = "bigint" if chosen.beneath == "clustered" else "heap"
    return {
        "beneath": beneath,
        "row_versions": chosen.row_versioning != "off",
        "pad_index": chosen.pad_index == "on",
    }
