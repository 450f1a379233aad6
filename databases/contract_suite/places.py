"""The servers on which the suite runs.

By default it runs every engine of the registry on every kind of server that can be started here, except containers,
whose images may be gigabytes to pull. `KEYBENCH_CONTRACT` (or `make contract DB=…`) names others: engines, engine=kind,
URLs, engine=URL, separated by spaces or commas.
"""

import os
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache

import pytest

from keybench.databases.contract.engine import Engine
from keybench.databases.registry import engine, engines
from keybench.errors import KeybenchError, UsageError

VARIABLE = "KEYBENCH_CONTRACT"
CONTAINER = "container"


@dataclass(frozen=True)
class Place:
    """One engine on one server: a kind, or a URL."""

    engine: Engine
    server: str

    @property
    def is_url(self) -> bool:
        return "://" in self.server

    def __str__(self) -> str:
        return f"{self.engine.name}-{'url' if self.is_url else self.server}"


def asked() -> list[Place]:
    """The places that the environment names; empty if it names none. Raises UsageError for an unknown name."""
    named = os.environ.get(VARIABLE, "").replace(",", " ").split()
    return [place for name in named for place in _named(name)]


def _named(name: str) -> Iterator[Place]:
    """The places that one name in the environment stands for: an engine, engine=kind, a URL, engine=URL."""
    before, _, after = name.partition("=")
    if "://" in name and "://" not in before:
        yield Place(engine(before), after)
    elif "://" in name:
        yield Place(_engine_of_scheme(name.partition("://")[0]), name)
    elif after:
        yield Place(engine(before), after)
    else:
        yield from (Place(engine(name), kind) for kind in engine(name).servers)


def _engine_of_scheme(scheme: str) -> Engine:
    """The engine of URLs with that scheme, the one of that name if there are several; UsageError if there is none."""
    fitting = [on for on in engines().values() if scheme in on.url_schemes]
    if not fitting:
        raise UsageError(f"{VARIABLE}: no database is reached by {scheme}:// URLs: name another.")
    return next((on for on in fitting if on.name == scheme), fitting[0])


def missing(place: Place) -> str:
    """Why the suite cannot run there; empty if it can."""
    return "" if place.is_url else place.engine.missing(place.server)


@cache
def places() -> list[Place]:
    """The places on which the suite runs. The tests end if places were named and none of them is available."""
    try:
        named = asked()
        available = [place for place in named if not missing(place)]
        if named and not available:
            raise UsageError("\n".join(dict.fromkeys(missing(place) for place in named)))
    except KeybenchError as error:
        pytest.exit(f"{VARIABLE}: {error}", returncode=error.exit_code)
    return available or [place for on in engines().values() for place in of(on) if not missing(place)]


def of(on: Engine) -> list[Place]:
    """The places of an engine on which the suite runs by default, if they can be started here."""
    return [Place(on, kind) for kind in on.servers if kind != CONTAINER]
