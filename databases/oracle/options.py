"""Options of Oracle beyond a run's own, from a URL's query or the environment.

| option | environment | choices |
|---|---|---|
| `unique` | `KEYBENCH_ORACLE_UNIQUE` | `yes` or `no`: whether the index of a nonclustered key is unique |

It is recorded with a result.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields

from keybench.databases.core.engine_options import chosen
from keybench.errors import unknown_name


@dataclass(frozen=True)
class Options:
    """The options by name; the defaults are those of keybench."""

    unique: str = "yes"

    def __post_init__(self) -> None:
        if self.unique not in {"yes", "no"}:
            raise unknown_name("Oracle option unique", self.unique, ("yes", "no"))

    def parameters(self) -> dict[str, str]:
        """The options as parameters of an address."""
        return asdict(self)


NAMES = frozenset(field.name for field in fields(Options))


def options(given: Mapping[str, str]) -> Options:
    """The options in `given`, else the environment's, else the defaults; UsageError for a value that is no choice."""
    return Options(**chosen("oracle", NAMES, given))
