"""Which engine a URL or path belongs to."""

from __future__ import annotations

from typing import Final

from keybench.databases.contract.engine import Engine
from keybench.databases.registry import engines
from keybench.errors import EnvironmentMissing, UsageError
from keybench.model.url import scheme

UNCONFIRMED: Final = (
    "This part of keybench follows the documentation of the database alone and was never run on a live server: check "
    "what it says before you rely on it."
)


def engine_of(target: str) -> Engine:
    """The engine that looks at databases of that form, one with the scheme's own name first.

    UsageError if there is none, EnvironmentMissing if its driver is missing.
    """
    fitting = [(name, on) for name, on in engines().items() if on.inspects(target)]
    if not fitting:
        known = sorted(one for on in engines().values() for one in on.url_schemes if on.inspects(f"{one}://"))
        raise UsageError(
            f"keybench looks at no {scheme(target) or 'such'}:// databases: give the path of an SQLite file, or a URL "
            f"that begins with {', '.join(f'{one}://' for one in dict.fromkeys(known))}."
        )
    name, chosen = next((each for each in fitting if each[0] == scheme(target)), fitting[0])
    drivers = engines()[name].drivers
    from importlib.util import find_spec

    if drivers and not any(find_spec(driver) for driver in drivers):
        raise EnvironmentMissing(f"{engines()[name].title} needs a driver: pip install keybench[{name}].")
    return chosen
