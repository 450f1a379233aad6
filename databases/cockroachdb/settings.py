"""Settings of clusters that keybench starts, and those that are recorded. All others have the server's defaults."""

from __future__ import annotations

import psutil

from keybench.databases.cockroachdb.ddl import SHARDING
from keybench.databases.contract.options import CacheSize, Profile
from keybench.databases.contract.roles import Settings
from keybench.databases.contract.setting import Setting

_MB = 1 << 20

CACHE_MB: dict[CacheSize, int] = {"default": 1024, "small": 128}
"""`--cache` in MiB; never more than a quarter of the machine's memory, as "cockroach start-single-node" advises."""

UNSYNCED = "kv.raft_log.synchronization.unsafe.disabled"
"""Commits are acknowledged before they are on disk (since 23.2; "Cluster Settings")."""
PROFILES: dict[Profile, str] = {"durable": "false", "fast": "true"}

RECORDED = (
    UNSYNCED,
    "kv.range_merge.queue.enabled",
    "kv.range_split.by_load.enabled",
    "kv.range_split.load_cpu_threshold",
    "kv.range_split.load_qps_threshold",
    "kv.range_split.objective",
    "sql.defaults.default_hash_sharded_index_bucket_count",
    "sql.txn.read_committed_isolation.enabled",
)
"""Cluster settings that `Admin.settings` reports, of those that the version has."""

SETTABLE = (
    Setting(
        SHARDING,
        "the key's index by ranges of keys, or hash-sharded (USING HASH, 16 buckets)",
        "range",
        "table",
        ("range", "hash"),
    ),
)


def settings_for(profile: Profile, cache: CacheSize) -> Settings:
    """The settings of a profile and cache size on this machine."""
    megabytes = max(64, min(CACHE_MB[cache], psutil.virtual_memory().total // 4 // _MB))
    values = {"cache": f"{megabytes}MiB", "max-sql-memory": f"{max(128, megabytes)}MiB", UNSYNCED: PROFILES[profile]}
    return Settings(profile, megabytes * _MB, values)
