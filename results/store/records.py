"""The records of a results database: runs, their environments, and trials."""

from __future__ import annotations

import secrets
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Literal

from keybench.model.column import Pairing
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

    def characters(self, payload: int) -> str:
        """The payload of trials in words, given its characters, or the most of them: `100 characters`, or `0 to 200
        characters, uniform`."""
        scenario = self.definition.get("scenario")
        table = scenario.get("table") if isinstance(scenario, dict) else None
        listed = table.get("payload") if isinstance(table, dict) else None
        for one in listed if isinstance(listed, list) else ():
            if isinstance(one, dict) and one.get("max") == payload:
                return f"{one.get('min')} to {payload:,} characters, {one.get('distribution')}"
        return f"{payload:,} character{'' if payload == 1 else 's'}"

    @property
    def several_writers(self) -> bool:
        """Whether its trials differ in their number of writers."""
        scenario = self.definition.get("scenario")
        load = scenario.get("load") if isinstance(scenario, dict) else None
        return isinstance(load, dict) and len(load.get("writers") or ()) > 1

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns that the user or the scenario asked for: names, `native` or `suited`; empty for the default."""
        scenario = self.definition.get("scenario")
        asked = self.definition.get("columns") or (scenario.get("columns") if isinstance(scenario, dict) else None)
        if isinstance(asked, dict):  # by database
            asked = list(dict.fromkeys(name for own in asked.values() for name in own))
        return tuple(map(str, asked)) if isinstance(asked, list | tuple) else ()

    def pairing(self, database: str, layout: str) -> Pairing | None:
        """The layout's columns on that database; None in runs that did not record them."""
        pairings = self.definition.get("pairings")
        of_database = pairings.get(database) if isinstance(pairings, dict) else None
        recorded = of_database.get(layout) if isinstance(of_database, dict) else None
        return Pairing(**recorded) if isinstance(recorded, dict) else None


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
