"""Settings: SQLite's pragmas by profile and cache size.

The journal is a write-ahead log in both profiles, as an application with more than one connection would have it: a
`durable` commit (synchronous FULL) then costs one fsync of the log, like a commit on the database servers, and what is
logged can be counted. `fast` (synchronous OFF) differs by the syncs alone. A checkpoint at 1,000 pages is SQLite's own
default, which few change. No mapped memory: the page cache is the one cache besides the operating system's.
"""

from __future__ import annotations

from keybench.databases.contract.options import CacheSize, Profile
from keybench.databases.contract.roles import Settings
from keybench.pagemodels.sqlite.records import PAGE_SIZE

_CACHE_KIB: dict[CacheSize, int] = {"default": 256 * 1024, "small": 16 * 1024}

# In the order in which they are applied: the page size before the journal mode, which writes the first page.
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
    # Without the fullfsync pragmas, which only macOS heeds, its disks keep what was synced in their own cache.
    "durable": {"synchronous": "2", "fullfsync": "1", "checkpoint_fullfsync": "1"},
    "fast": {"synchronous": "0", "fullfsync": "0", "checkpoint_fullfsync": "0"},
}

RECORDED = ("auto_vacuum", "secure_delete", "cell_size_check")
"""Not set, but recorded with results."""


def settings_for(profile: Profile, cache: CacheSize) -> Settings:
    """All pragmas, as SQLite reports them; each connection has a cache of its own."""
    kib = _CACHE_KIB[cache]
    return Settings(profile, kib * 1024, {**_COMMON, **_PROFILES[profile], "cache_size": str(-kib)})
