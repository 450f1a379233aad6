"""An engine's own options, from a URL's query or the environment."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence

from keybench.databases.contract.setting import Setting

EngineOptions = Mapping[str, str]
"""The value of each option, by name."""


def options(engine: str, title: str, declared: Sequence[Setting], given: Mapping[str, str]) -> dict[str, str]:
    """The value of each declared option: that in `given`, else in KEYBENCH_<ENGINE>_<NAME>, else the default.

    `given` is a URL's query or an address's parameters; other names in it are ignored. Empty variables count as unset.
    UsageError for a value that is none of the option's.
    """
    values = {}
    for option in declared:
        text = given.get(option.name) or os.environ.get(f"KEYBENCH_{engine}_{option.name}".upper()) or option.default
        values[option.name] = option.read(text, title)
    return values
