"""The settings of servers that keybench starts: one table. All else is as the server's own defaults have it."""

from __future__ import annotations

import psutil

from keybench.databases.contract import Settings
from keybench.databases.options import CacheSize, Profile

MB = 1 << 20

MEMORY_MB: dict[CacheSize, int] = {"default": 2048, "small": 1024}
"""`max server memory`. SQL Server has no setting for its page cache alone, which gets most of this."""

PROFILES: dict[Profile, str] = {"durable": "DISABLED", "fast": "FORCED"}
"""Delayed durability of the database: `FORCED` acknowledges commits before the log is on disk."""


def of(profile: Profile, cache: CacheSize) -> Settings:
    """The settings of a profile and cache size on this machine; never more than half of its memory."""
    half = psutil.virtual_memory().total // 2 // MB
    megabytes = max(512, min(MEMORY_MB[cache], half))
    values = {"max_server_memory_mb": str(megabytes), "delayed_durability": PROFILES[profile]}
    return Settings(profile, megabytes * MB, values)


def statements(settings: Settings) -> tuple[str, ...]:
    """What sets them on a server of ours, on a connection to master."""
    return (
        "EXEC sys.sp_configure N'show advanced options', 1",
        "RECONFIGURE",
        f"EXEC sys.sp_configure N'max server memory (MB)', {settings.values['max_server_memory_mb']}",
        "EXEC sys.sp_configure N'max degree of parallelism', 1",
        "RECONFIGURE",
    )
