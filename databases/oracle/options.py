"""What can be chosen about Oracle beyond a run's own options, from a URL's query or the environment.

| option | environment | choices |
|---|---|---|
| `unique` | `KEYBENCH_ORACLE_UNIQUE` | `yes` or `no`: whether the index of a nonclustered key is unique |

It is recorded with a result.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields

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
    """The options among `given`, else the environment's, else defaults; UsageError for what is none of the choices."""
    environment = {name: os.environ.get(f"KEYBENCH_ORACLE_{name.upper()}", "") for name in NAMES}
    chosen = {name: value for name, value in environment.items() if value}
    return Options(**{**chosen, **{name: value for name, value in given.items() if name in NAMES}})
