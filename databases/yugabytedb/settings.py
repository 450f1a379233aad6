"""Settings of clusters that keybench starts, and those that are recorded. All others have the server's defaults."""

from __future__ import annotations

import psutil

from keybench.databases.contract.options import CacheSize, Profile
from keybench.databases.contract.roles import Settings
from keybench.databases.contract.setting import Setting
from keybench.databases.yugabytedb.ddl import SHARDING

_MB = 1 << 20

CACHE_MB: dict[CacheSize, int] = {"default": 1024, "small": 256}
"""`db_block_cache_size_bytes` in MiB; never more than a quarter of the machine's memory ("yb-tserver")."""
PROFILES: dict[Profile, str] = {"durable": "true", "fast": "false"}
"""`durable_wal_write`: the log is synchronised before a write is acknowledged. YugabyteDB's default is false, because
it counts on other nodes' copies."""

RECORDED = (
    "yb_enable_docdb_tracing",
    "yb_effective_transaction_isolation_level",
    "yb_fetch_row_limit",
    "yb_read_from_followers",
    "yb_use_hash_splitting_by_default",
    "ysql_session_max_batch_size",
    "ysql_max_in_flight_ops",
    "yb_default_copy_from_rows_per_transaction",
    "max_connections",
    "server_encoding",
)
"""Settings of YSQL that `Admin.settings` reports, of those that the version has."""

SETTABLE = (
    Setting(
        SHARDING,
        "the key's index by a hash of the key, YugabyteDB's default, or by ranges of keys (ASC)",
        "hash",
        "table",
        ("hash", "range"),
    ),
)


def settings_for(profile: Profile, cache: CacheSize) -> Settings:
    """The settings of a profile and cache size on this machine: flags of the tablet server."""
    size = max(64, min(CACHE_MB[cache], psutil.virtual_memory().total // 4 // _MB)) * _MB
    return Settings(profile, size, {"db_block_cache_size_bytes": str(size), "durable_wal_write": PROFILES[profile]})
