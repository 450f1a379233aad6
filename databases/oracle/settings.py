"""The settings of servers that keybench starts: one table. All else is as the server's own defaults have it."""

from __future__ import annotations

from keybench.databases.contract import Settings
from keybench.databases.options import CacheSize, Profile
from keybench.databases.oracle.user import DURABILITY

_MB = 1 << 20

CACHE_MB: dict[CacheSize, int] = {"default": 768, "small": 64}
"""db_cache_size, the least of the buffer cache; Oracle Free gives all of the server 2 GB."""


def of(profile: Profile, cache: CacheSize) -> Settings:
    """The settings of a profile and cache size."""
    megabytes = CACHE_MB[cache]
    values = {"commit_wait": DURABILITY[profile], "db_cache_size": f"{megabytes}M"}
    return Settings(profile, megabytes * _MB, values)


def statements(settings: Settings) -> tuple[str, ...]:
    """What sets them on a server of ours, in the container database's root."""
    return tuple(f"ALTER SYSTEM SET {name} = {value} SCOPE = MEMORY" for name, value in settings.values.items())
