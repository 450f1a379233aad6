"""The engines that can run in a container."""

from keybench.databases.contract.engine import Engine
from keybench.databases.registry import engines
from keybench.errors import EnvironmentMissing


def _loads(on: Engine) -> bool:
    """Whether this version implements the engine; some engines are only declared."""
    try:
        on.settings("durable", "small")
    except EnvironmentMissing:
        return False
    return True


HAVING = [on for on in engines().values() if "container" in on.servers and _loads(on)]
