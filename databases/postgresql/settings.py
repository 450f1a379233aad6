"""The settings of servers that keybench starts, and those on which the page model depends.

All other settings keep the server's defaults.
"""

from collections.abc import Mapping

import psutil

from keybench.databases.contract.roles import Settings
from keybench.databases.contract.settings import CHECKPOINT, CacheSize, Profile, Setting, checkpoint
from keybench.errors import UsageError
from keybench.model.table import Table
from keybench.pagemodels.postgresql.records import PAGE_BYTES

_MB = 1 << 20

CACHE_MB: dict[CacheSize, int] = {"default": 1024, "small": 64}
"""shared_buffers in MiB. It never exceeds a quarter of the machine's memory, as PostgreSQL's manual advises."""

COMMON = {
    "autovacuum": "off",
    "checkpoint_completion_target": "0.9",
    "checkpoint_timeout": "15min",
    "dynamic_shared_memory_type": "mmap",
    "jit": "off",
    "max_connections": "100",
    "max_replication_slots": "40",
    "max_wal_size": "4GB",
    "min_wal_size": "1GB",
    "timezone": "UTC",
    "wal_buffers": "16MB",
    "wal_compression": "off",
    "wal_level": "replica",
}
"""Replication slots keep the log of a trial; each of its tables needs two. Dynamic shared memory is in the private
folder, so that a killed server leaves nothing in /dev/shm."""

PROFILES: dict[Profile, dict[str, str]] = {
    "durable": {"fsync": "on", "full_page_writes": "on", "synchronous_commit": "on"},
    "fast": {"fsync": "off", "full_page_writes": "off", "synchronous_commit": "off"},
}

_OTHERS = "shared_buffers", "block_size", "data_checksums", "server_encoding", "wal_segment_size"
RECORDED = (*COMMON, *PROFILES["durable"], *_OTHERS)
"""The settings that `Admin.settings` reports."""


def for_profile(profile: Profile, cache: CacheSize) -> Settings:
    """The settings of a profile and cache size on this machine."""
    quarter = psutil.virtual_memory().total // 4 // _MB
    megabytes = max(16, min(CACHE_MB[cache], quarter))
    values = {**COMMON, **PROFILES[profile], "shared_buffers": f"{megabytes}MB"}
    return Settings(profile, megabytes * _MB, dict(sorted(values.items())))


DEDUPLICATE = "deduplicate_items"
SETTABLE = (
    Setting("fillfactor", "per cent to which the rightmost leaf of the key's index is filled",
            "90", "table", numbers=range(10, 101)),
    Setting("heap_fillfactor",
            "per cent to which inserts fill the pages of the table; the rest is for new versions of its rows",
            "100", "table", numbers=range(10, 101)),
    Setting("autovacuum", "whether the server cleans the table by itself", "off", "table", ("off", "on")),
    Setting(DEDUPLICATE, "whether a foreign key's index merges equal keys", "on", "table", ("on", "off")),
    checkpoint("max_wal_size", "4096M", 32),
)  # fmt: skip
BLOCK_SIZE, ACCESS_METHOD = "block_size", "default_table_access_method"
_MAX_WAL_SIZE = "max_wal_size"


def configured(settings: Settings, chosen: Mapping[str, str]) -> dict[str, str]:
    """The values of a private server with the settings that the user chose."""
    values = dict(settings.values)
    if CHECKPOINT in chosen:
        values[_MAX_WAL_SIZE] = f"{chosen[CHECKPOINT]}B"  # `4096M` becomes `4096MB`
    if chosen.get("autovacuum") == "on":
        values |= {"autovacuum": "on", "autovacuum_naptime": "1s"}  # a minute by default, which a trial hardly takes
    return values


def page_settings(variables: Mapping[str, str]) -> dict[str, str]:
    """The settings on which pages or their cost depend, from the server's settings, of which max_wal_size is in MB."""
    unchanged = {name: variables[name] for name in (BLOCK_SIZE, ACCESS_METHOD)}
    return {**unchanged, CHECKPOINT: f"{int(variables[_MAX_WAL_SIZE])}M"}


def model_parameters(table: Table) -> dict[str, int | str]:
    """The page model's parameters for a table with these settings; UsageError for settings that it does not know."""
    settings = table.settings  # one that is not there is as the model knows it
    if (block := settings.get(BLOCK_SIZE, str(PAGE_BYTES))) != str(PAGE_BYTES):
        raise UsageError(
            f"the page model of PostgreSQL knows blocks of {PAGE_BYTES} bytes only, and this server has blocks of "
            f"{block}."
        )
    if (method := settings.get(ACCESS_METHOD, "heap")) != "heap":
        raise UsageError(
            "the page model of PostgreSQL knows the table access method heap only, and this server has "
            f"{ACCESS_METHOD} = {method}."
        )
    if settings.get("autovacuum") == "on":
        raise UsageError(
            "the page model of PostgreSQL does not know when autovacuum comes: tables with autovacuum = on are "
            "measured alone."
        )
    fills = {name: int(settings[name]) for name in ("fillfactor", "heap_fillfactor") if name in settings}
    return {**fills, DEDUPLICATE: settings.get(DEDUPLICATE, "on")}


def merges_keys(table: Table) -> bool:
    """Whether the key's index merges equal entries."""
    return table.key == "fk" and table.children > 1 and table.settings.get(DEDUPLICATE) != "off"
