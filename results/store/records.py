"""The records of a results database: runs, their environments, and trials."""

from __future__ import annotations

import secrets
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Literal

from keybench.model.reading import Reading, Series
from keybench.results.store.blobs import Blob


@dataclass(frozen=True)
class Run:
    """What was requested and where it ran. `started` has a time zone; `definition` is all that a resume needs."""

    id: str
    started: datetime
    keybench: str
    command: str
    seed: int
    blocks: int
    scenario: str
    profile: str
    definition: Mapping[str, object]
    machine: Mapping[str, object]

    @property
    def load_path(self) -> str:
        """The name of the load path (`keybench.model.load_path`)."""
        scenario = self.definition.get("scenario")
        load = scenario.get("load") if isinstance(scenario, dict) else None
        return str(load.get("path", "rows")) if isinstance(load, dict) else "rows"

    def title(self, database: str) -> str:
        """The product's name; the engine's own name in runs that did not record it."""
        titles = self.definition.get("titles")
        return str(titles.get(database, database)) if isinstance(titles, dict) else database


@dataclass(frozen=True)
class Environment:
    """A server as it reports itself; `cache_bytes` is the size of its page cache."""

    database: str
    server: str
    versions: Mapping[str, str]
    settings: Mapping[str, str]
    cache_bytes: int


@dataclass(frozen=True)
class Trial:
    """One finished trial. `block` counts from 1; `position` is its place in the block's shuffled order, from 0.

    `started` has a time zone; `seconds` is the duration of the whole trial. A failed trial has an `error`, a
    `traceback` if the error was unexpected, and possibly no readings.
    """

    block: int
    position: int
    database: str
    server: str
    column: str
    layout: str
    scenario: str
    payload: int
    rows: int
    writers: int
    rows_per_tx: int
    started: datetime
    seconds: float
    status: Literal["ok", "error"]
    error: str
    readings: tuple[Reading, ...] = ()
    series: tuple[Series, ...] = ()
    blobs: tuple[Blob, ...] = ()
    traceback: str = ""


def new_run_id() -> str:
    """Ten random hexadecimal digits."""
    return secrets.token_hex(5)
