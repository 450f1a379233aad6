"""The settings of servers that keybench starts, in one table. All others have the server's defaults."""

from __future__ import annotations

from keybench.databases.contract import Settings
from keybench.databases.options import CacheSize, Profile
from keybench.databases.oracle.user import DURABILITY

_MB = 1 << 20

CACHE_MB: dict[CacheSize, int] = {"default": 768, "small": 64}
"""db_cache_size, the minimum of the buffer cache; Oracle Free limits the whole server to 2 GB."""


def for_profile(profile: Profile, cache: CacheSize) -> Settings:
    """The settings of a profile and cache size."""
    megabytes = CACHE_MB[cache]
    values = {"commit_wait": DURABILITY[profile], "db_cache_size": f"{megabytes}M"}
    return Settings(profile, megabytes * _MB, values)


def statements(settings: Settings) -> tuple[str, ...]:
    """The statements that set them on a server of ours, in the container database's root."""
    return tuple(f"ALTER SYSTEM SET {name} = {value} SCOPE = MEMORY" for name, value in settings.values.items())
