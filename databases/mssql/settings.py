"""The settings of servers that keybench starts, in one table. All others have the server's defaults."""

from __future__ import annotations

import psutil

from keybench.databases.contract import Settings
from keybench.databases.options import CacheSize, Profile

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
