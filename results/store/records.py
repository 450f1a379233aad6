"""The records of a results database: runs, their environments, and trials."""

import secrets
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final, Literal

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

    def part(self, *names: str) -> Mapping[str, Any]:
        """A table inside the definition, by the names that lead to it; empty if the run did not record it."""
        content: object = self.definition
        for name in names:
            content = content.get(name) if isinstance(content, Mapping) else None
        return content if isinstance(content, Mapping) else {}

    def payload_range(self, most: int) -> Mapping[str, Any]:
        """`min`, `max` and `distribution` of payloads that vary up to `most` characters; empty if they do not vary."""
        recorded = self.part("scenario", "table").get("payload")
        entries = recorded if isinstance(recorded, list) else []  # numbers, or tables of ranges
        return next((entry for entry in entries if isinstance(entry, Mapping) and entry.get("max") == most), {})

    @property
    def load_path(self) -> str:
        """The name of the load path (`keybench.model.load_path`)."""
        return str(self.part("scenario", "load").get("path", "rows"))

    def title(self, database: str) -> str:
        """The product's name; the engine's own name in runs that did not record it."""
        return str(self.part("titles").get(database, database))

    def characters(self, payload: int) -> str:
        """A payload of this many characters at most, in words: `100 characters`, or `0 to 200 characters, uniform`."""
        if varying := self.payload_range(payload):
            return f"{varying.get('min')} to {payload:,} characters, {varying.get('distribution')}"
        return f"{payload:,} character{'' if payload == 1 else 's'}"

    @property
    def several_writers(self) -> bool:
        """Whether its trials differ in their number of writers."""
        return len(self.part("scenario", "load").get("writers") or ()) > 1

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns that the user or the scenario asked for: names, `native` or `suited`; empty for the default."""
        columns = self.definition.get("columns") or self.part("scenario").get("columns")
        if isinstance(columns, dict):  # by database
            columns = list(dict.fromkeys(name for of_database in columns.values() for name in of_database))
        return tuple(map(str, columns)) if isinstance(columns, list | tuple) else ()

    def pairing(self, database: str, layout: str) -> Pairing | None:
        """The layout's columns on that database; None in runs that did not record them."""
        recorded = self.part("pairings", database, layout)
        return Pairing(**recorded) if recorded else None


@dataclass(frozen=True)
class Environment:
    """A server as it reports itself; `cache_bytes` is the size of its page cache."""

    database: str
    server: str
    versions: Mapping[str, str]
    settings: Mapping[str, str]
    cache_bytes: int


REPEATED: Final = " --resume repeats this trial."
"""How the error of a trial ends if its server was missing: the trial itself did nothing wrong."""


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
