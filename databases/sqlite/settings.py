"""Settings: SQLite's pragmas by profile and cache size.

The journal is a write-ahead log in both profiles, as in an application with more than one connection. A `durable`
commit (synchronous FULL) then costs one fsync of the log, like a commit on the database servers, and the logged pages
can be counted. `fast` (synchronous OFF) differs only in the syncs. A checkpoint at 1,000 pages is SQLite's own default,
which few people change. There is no mapped memory, so the page cache is the only cache besides the operating system's.
"""

from collections.abc import Mapping

from keybench.databases.contract.roles import Settings
from keybench.databases.contract.settings import CacheSize, Profile, Setting, size_of, spelled
from keybench.errors import UsageError
from keybench.model.table import Table
from keybench.pagemodels.sqlite.records import PAGE_SIZE, PAGE_SIZES

_CACHE_KIB: dict[CacheSize, int] = {"default": 256 * 1024, "small": 16 * 1024}

# Applied in this order: the page size must come before the journal mode, which writes the first page.
_COMMON = {
    "busy_timeout": "60000",
    "page_size": str(PAGE_SIZE),
    "journal_mode": "wal",
    "locking_mode": "normal",
    "wal_autocheckpoint": "1000",
    "mmap_size": "0",
    "temp_store": "2",
}
_PROFILES: dict[Profile, dict[str, str]] = {
    # Only macOS heeds the fullfsync pragmas. Without them its disks may keep synced data in their own cache.
    "durable": {"synchronous": "2", "fullfsync": "1", "checkpoint_fullfsync": "1"},
    "fast": {"synchronous": "0", "fullfsync": "0", "checkpoint_fullfsync": "0"},
}

RECORDED = ("auto_vacuum", "secure_delete", "cell_size_check")
"""Pragmas that keybench does not set, but records with results."""


def settings_for(profile: Profile, cache: CacheSize) -> Settings:
    """All pragmas, as SQLite reports them. Each connection has a cache of its own."""
    kib = _CACHE_KIB[cache]
    return Settings(profile, kib * 1024, {**_COMMON, **_PROFILES[profile], "cache_size": str(-kib)})


SETTABLE = (Setting("page_size", "PRAGMA page_size", spelled(PAGE_SIZE), "server", tuple(map(spelled, PAGE_SIZES))),)
_AUTO_VACUUM = "auto_vacuum"


def page_settings(pragmas: Mapping[str, str]) -> dict[str, str]:
    """What `Admin.page_settings` returns, from the pragmas of a new database."""
    return {"page_size": spelled(int(pragmas["page_size"])), _AUTO_VACUUM: pragmas[_AUTO_VACUUM]}


def model_parameters(table: Table) -> dict[str, int]:
    """The page model's parameters for a table with these settings; UsageError for settings that it does not know."""
    if (mode := table.settings.get(_AUTO_VACUUM, "0")) != "0":
        raise UsageError(
            f"the page model of SQLite knows no pointer-map pages, which this SQLite makes with auto_vacuum = {mode}."
        )
    return {"page_bytes": size_of(table.settings["page_size"])} if "page_size" in table.settings else {}
