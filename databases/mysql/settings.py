"""The settings of private servers, in one table. All others have the server's defaults."""

from __future__ import annotations

import psutil

from keybench.databases.contract.options import CacheSize, Profile
from keybench.databases.contract.roles import Settings
from keybench.databases.mysql.flavour import Flavour

_MB = 1 << 20

CACHE_MB: dict[CacheSize, int] = {"default": 1024, "small": 64}
"""innodb_buffer_pool_size; never more than a quarter of the machine's memory, as for the other engines."""

COMMON = {
    "character_set_server": "utf8mb4",
    "innodb_autoinc_lock_mode": "2",
    "innodb_file_per_table": "ON",
    "innodb_flush_method": "O_DIRECT",
    "innodb_log_buffer_size": "16M",
    "innodb_page_size": "16K",
    "innodb_stats_auto_recalc": "OFF",
    "local_infile": "ON",
    "max_allowed_packet": "1G",
    "max_connections": "50",
    "performance_schema": "OFF",
    "transaction_isolation": "REPEATABLE-READ",
}
"""Statistics are not recalculated in the background, so nothing scans the table while it is loaded. Auto-increment is
interleaved, so that writers of a table with an integer primary key do not wait for one another."""

PROFILES: dict[Profile, dict[str, str]] = {
    "durable": {"innodb_flush_log_at_trx_commit": "1", "innodb_doublewrite": "ON"},
    "fast": {"innodb_flush_log_at_trx_commit": "0", "innodb_doublewrite": "OFF"},
}

RECORDED = (
    *COMMON,
    *PROFILES["durable"],
    "collation_server",
    "innodb_buffer_pool_size",
    "innodb_change_buffering",
    "innodb_default_row_format",
    "innodb_fill_factor",
    "innodb_log_file_size",
    "innodb_redo_log_capacity",
    "log_bin",
    "sql_mode",
    "tx_isolation",
)
"""The settings that `Admin.settings` reports, where the server has them."""


def for_profile(flavour: Flavour, profile: Profile, cache: CacheSize) -> Settings:
    """The settings of a profile and cache size on this machine."""
    quarter = psutil.virtual_memory().total // 4 // _MB
    megabytes = max(16, min(CACHE_MB[cache], quarter))
    values = {**COMMON, **flavour.settings, **PROFILES[profile], "innodb_buffer_pool_size": f"{megabytes}M"}
    return Settings(profile, megabytes * _MB, dict(sorted(values.items())))
