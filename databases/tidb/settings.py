"""Settings that are recorded. keybench starts no TiDB, and changes no setting of somebody's own."""

from __future__ import annotations

from keybench.databases.contract.options import CacheSize, Profile
from keybench.databases.contract.roles import Settings

VARIABLES = (
    "tidb_enable_clustered_index",
    "tidb_txn_mode",
    "tidb_enable_1pc",
    "tidb_enable_async_commit",
    "tidb_disable_txn_auto_retry",
    "tidb_scatter_region",
    "transaction_isolation",
    "sync_log",
)
"""System variables that `Admin.settings` reports, of those that the version has ("System Variables")."""

OF_TIKV = (
    "coprocessor.region-split-size",
    "coprocessor.region-max-size",
    "raftstore.sync-log",
    "split.qps-threshold",
    "storage.block-cache.capacity",
)
"""Settings of TiKV, from SHOW CONFIG, which needs the privilege CONFIG."""


def settings_for(profile: Profile, _cache: CacheSize) -> Settings:
    """The profile alone: there is no server to set up."""
    return Settings(profile, 0, {})
