"""An engine's own options, from a URL's query or the environment."""

from __future__ import annotations

import os
from collections.abc import Collection, Mapping


def chosen(engine: str, names: Collection[str], given: Mapping[str, str]) -> dict[str, str]:
    """The values of the options `names`, from `given`, else from the environment variable KEYBENCH_<ENGINE>_<NAME>.

    `given` is a URL's query or an address's parameters; other names in it are ignored. Empty variables count as unset.
    """
    environment = {name: os.environ.get(f"KEYBENCH_{engine.upper()}_{name.upper()}", "") for name in names}
    set_there = {name: value for name, value in environment.items() if value}
    return {**set_there, **{name: value for name, value in given.items() if name in names}}
