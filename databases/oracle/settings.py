"""The settings of servers that keybench starts, the options of Oracle beyond a run's own, and URLs.

All other settings have the server's defaults. An option comes from `--set NAME=VALUE`, else a URL's query, else the
environment (KEYBENCH_ORACLE_UNIQUE). It is recorded with a result.
"""

from collections.abc import Mapping

from keybench.databases.contract.roles import Address, Settings
from keybench.databases.contract.settings import CacheSize, EngineOptions, Profile, Setting, option_values
from keybench.databases.hosting.secret import from_url
from keybench.databases.hosting.url_server import UrlForm
from keybench.errors import UsageError

_MB = 1 << 20

CACHE_MB: dict[CacheSize, int] = {"default": 768, "small": 64}
"""db_cache_size, the minimum of the buffer cache; Oracle Free limits the whole server to 2 GB."""
DURABILITY: dict[Profile, str] = {"durable": "FORCE_WAIT", "fast": "NOWAIT"}
"""COMMIT_WAIT of the database by profile: `fast` acknowledges commits before the redo is on disk."""


def for_profile(profile: Profile, cache: CacheSize) -> Settings:
    """The settings of a profile and cache size."""
    megabytes = CACHE_MB[cache]
    values = {"commit_wait": DURABILITY[profile], "db_cache_size": f"{megabytes}M"}
    return Settings(profile, megabytes * _MB, values)


def statements(settings: Settings) -> tuple[str, ...]:
    """The statements that make these settings on a server that keybench starts, in the container database's root."""
    return tuple(f"ALTER SYSTEM SET {name} = {value} SCOPE = MEMORY" for name, value in settings.values.items())


SETTABLE = (Setting("unique", "whether the index of a nonclustered key is unique", "yes", "table", ("yes", "no")),)
NAMES = frozenset(setting.name for setting in SETTABLE)


def options(parameters: Mapping[str, str]) -> EngineOptions:
    """The options in `parameters`, else the environment's, else the defaults. UsageError for any other value."""
    return option_values("oracle", "Oracle", SETTABLE, parameters)


BLOCK_SIZE = "block_size"
_MODELLED_BLOCK = "8192"


def require_modelled(settings: Mapping[str, str]) -> None:
    """UsageError for settings of a server that the page model does not know."""
    if (block := settings.get(BLOCK_SIZE, _MODELLED_BLOCK)) != _MODELLED_BLOCK:
        raise UsageError(
            f"the page model of Oracle knows blocks of {_MODELLED_BLOCK} bytes only, and this user's tablespace has "
            f"blocks of {block}."
        )


_FORM = UrlForm("Oracle", "oracle://user@host:1521/service", NAMES)
_PORT = "1521"


def address_of(url: str, preferred: Mapping[str, str]) -> Address:
    """The address of an oracle:// URL, its password replaced by a reference. Options in `preferred` come before its
    own. UsageError, without the URL, if it cannot be understood, has an unknown option or names no user or service."""
    parts = _FORM.parse(url)
    if not parts.path or not parts.user:
        raise _FORM.misunderstood()
    place = {"host": parts.host, "port": parts.port or _PORT, "service": parts.path, "user": parts.user}
    chosen = options({**parts.options, **preferred})
    return Address("oracle", "url", {**chosen, **place}, secret=from_url(parts.password))
