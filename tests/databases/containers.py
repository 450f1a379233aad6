"""Which engines have a container that can be loaded."""

from __future__ import annotations

from keybench.databases.contract.engine import Engine
from keybench.databases.registry import engines
from keybench.errors import EnvironmentMissing


def _loads(on: Engine) -> bool:
    """Whether this version can load it at all; some are only declared."""
    try:
        on.settings("durable", "small")
    except EnvironmentMissing:
        return False
    return True


HAVING = [on for on in engines().values() if "container" in on.servers and _loads(on)]
