"""The parts of a scenario file, one class for each table of the file; those about writers are in `writers`."""

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import pairwise
from typing import Annotated, Any, Literal, Self

from pydantic import BaseModel, ConfigDict, Discriminator, Field, Tag, field_validator, model_validator

from keybench.model.load_path import LOAD_PATHS, ROWS
from keybench.model.names import MOST_ROWS
from keybench.model.payload import Distribution, PayloadLengths
from keybench.model.table import KeyRole
from keybench.model.transactions import Isolation, LookUp, TransactionStyle

SKEW_ROWS = 1000
"""Default for the number of rows by which writers may run apart."""

Share = Annotated[float, Field(ge=0, lt=1)]  # a share that is less than the whole
Seconds = Annotated[float, Field(ge=0, le=1e9)]
"""A moment of virtual time, since the scenario's start."""


class FilePart(BaseModel):
    """One table of the file: unknown fields are errors, values are not converted, lists become tuples."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True, allow_inf_nan=False)

    @model_validator(mode="before")
    @classmethod
    def _lists_to_tuples(cls, values: Any) -> Any:
        if not isinstance(values, dict):  # pydantic refuses it
            return values
        return {name: lists_to_tuples(value) for name, value in values.items()}


def lists_to_tuples(value: Any) -> Any:
    """The value with tuples instead of lists, at any depth."""
    return tuple(map(lists_to_tuples, value)) if isinstance(value, list) else value


Characters = Annotated[int, Field(ge=0, le=1_000_000)]


class PayloadPart(FilePart):
    """A payload of varying length: `min` to `max` characters, both included, by a distribution."""

    min: Characters
    max: Characters
    distribution: Distribution = "uniform"

    @model_validator(mode="after")
    def _varying(self) -> Self:
        if self.min >= self.max:
            raise ValueError(f"min is below max: for rows of one length write payload = {self.max}")
        return self


ALTERNATIVE = "~"
"""Begins the name of one of several forms that a value may have. Locations of problems leave it out."""

Payload = Annotated[
    Annotated[Characters, Tag(f"{ALTERNATIVE}number")] | Annotated[PayloadPart, Tag(f"{ALTERNATIVE}range")],
    Discriminator(lambda value: ALTERNATIVE + ("range" if isinstance(value, dict | PayloadPart) else "number")),
]
"""A number of characters, or a range of them."""


class TablePart(FilePart):
    """The table: `payload` characters beside the key (each of several gives a separate trial), and the key's role.

    `by-date`: rows store when they were created, and are stored in that order if the engine supports it. `fk`: the key
    is a foreign key, repeated in `children` rows, which are sent with their parent. `status`: for phases that update.
    """

    payload: Annotated[tuple[Payload, ...], Field(min_length=1)] = (100,)
    key: KeyRole = "clustered"
    children: Annotated[int, Field(ge=1, le=100)] = 1
    status: bool = False
    """Whether rows also have a `status`, an integer that is 0 at first, with an index of its own."""

    @model_validator(mode="before")
    @classmethod
    def _one_or_several(cls, values: Any) -> Any:
        if isinstance(values, dict) and "payload" in values:
            payload = values["payload"]  # one, or a list of them
            return {**values, "payload": payload if isinstance(payload, list | tuple) else (payload,)}
        return values

    @model_validator(mode="after")
    def _children_of_parents(self) -> Self:
        if self.children > 1 and self.key != "fk":
            raise ValueError('only a table whose key is a foreign key has children: add key = "fk", or leave them out')
        return self

    @model_validator(mode="after")
    def _payloads_of_different_lengths(self) -> Self:
        longest = [payload.most for payload in self.payloads]
        if twice := [n for n in longest if longest.count(n) > 1]:
            raise ValueError(
                f"two payloads have up to {twice[0]:,} characters, by which results tell them apart: leave one out"
            )
        return self

    @property
    def payloads(self) -> tuple[PayloadLengths, ...]:
        """The payload of each trial."""
        return tuple(
            PayloadLengths(one, one) if isinstance(one, int) else PayloadLengths(one.min, one.max, one.distribution)
            for one in self.payload
        )


CONTENDED = ("isolation", "look_up", "filled", "watched")
"""Fields of `LoadPart` that make a scenario one of contention."""


class LoadPart(FilePart):
    """How rows are sent: `rows_per_tx` rows a transaction, by a load path."""

    rows_per_tx: Annotated[int, Field(gt=0, le=1_000_000)] = 1000
    skew_rows: Annotated[int, Field(ge=0, le=MOST_ROWS)] = SKEW_ROWS
    """A writer waits before a transaction that begins more than so many rows, as planned, ahead of the slowest one."""
    path: str = ROWS.name
    """A name from `keybench.model.load_path`."""
    writers: tuple[Annotated[int, Field(ge=1, le=1024)], ...] = ()
    """Numbers of equal writers that divide the only writer's work, each in trials of its own; none: the scenario's."""
    isolation: Isolation | None = None
    """The level of all transactions; None: the server's default."""
    look_up: LookUp | None = None
    """What each transaction reads before it inserts."""
    filled: Share = 0.0
    """Share of the rows that come before the measured load, untimed: 1,000 a transaction, with nothing else in it."""
    watched: Annotated[int, Field(ge=0, le=200)] = 0
    """How often a second the waits of all writers are sampled."""

    @field_validator("path")
    @classmethod
    def _known_path(cls, name: str) -> str:
        if name not in LOAD_PATHS:
            raise ValueError(f"Input should be {' or '.join(map(repr, LOAD_PATHS))}")
        return name

    @property
    def style(self) -> TransactionStyle | None:
        """The style of transactions that have an isolation level or a look-up; None if they are just one batch."""
        return TransactionStyle(self.isolation, self.look_up) if self.isolation or self.look_up else None

    @property
    def contended(self) -> bool:
        """Whether a trial looks at what writers do to one another."""
        return any(getattr(self, name) for name in CONTENDED)


class ServerPart(FilePart):
    """The server's settings that the scenario requests (`small` gives it a small page cache), and its restarts.

    `settings` are those that engines declare as settable, by `name` or `database.name`; numbers become text. Only keys
    that a server makes and the client replicates depend on the restarts: the measured server keeps running.
    """

    cache: Literal["default", "small"] = "default"
    settings: Mapping[str, str] = Field(default_factory=dict)
    restarts: tuple[Annotated[Seconds, Field(gt=0)], ...] = ()
    """When each server that makes keys starts again."""
    hosts: Annotated[int, Field(ge=1, le=64)] = 1
    """Machines on which a server runs in turn: at each restart, the next one takes over."""

    @model_validator(mode="after")
    def _consistent(self) -> Self:
        if any(later <= earlier for earlier, later in pairwise(self.restarts)):
            raise ValueError("the restarts are not in order of time: sort them")
        if self.hosts > len(self.restarts) + 1:
            raise ValueError(
                f"the next of {self.hosts} hosts takes over at each restart, and the list of restarts has "
                f"{len(self.restarts)}: give at least {self.hosts - 1}"
            )
        return self

    @field_validator("settings", mode="before")
    @classmethod
    def _as_text(cls, values: Any) -> Any:
        if not isinstance(values, dict):
            return values
        return {name: str(value) if type(value) is int else value for name, value in values.items()}


class BeforePart(FilePart):
    """The keys in the table before the application changes to the measured layout."""

    layout: Annotated[str, Field(min_length=1)]
    share: Annotated[float, Field(gt=0, lt=1)]
    """Share of all rows, the first, whose keys have that layout. Then all writers restart with the measured one."""


class AfterPart(FilePart):
    """The work after the load: look-ups of each kind."""

    reads: Annotated[int, Field(ge=0, le=MOST_ROWS)] = 0


EntropyKind = Literal["aes", "os", "plain"]
"""AES in counter mode, the operating system's random bytes, or a plain pseudo-random generator."""

_ENTROPY_TITLES: dict[EntropyKind, str] = {"aes": "AES", "os": "operating system", "plain": "plain PRNG"}


@dataclass(frozen=True)
class Way:
    """How the keys of a trial without a database are made."""

    entropy: EntropyKind
    threads: int

    @property
    def title(self) -> str:
        """Its name in results and reports."""
        return f"{_ENTROPY_TITLES[self.entropy]}, {self.threads} thread{'s' if self.threads > 1 else ''}"


class GenerationPart(FilePart):
    """Trials without a database: threads make `rows` keys, in one trial for each number of threads and entropy."""

    threads: Annotated[tuple[Annotated[int, Field(ge=1, le=64)], ...], Field(min_length=1)] = (1,)
    entropy: Annotated[tuple[EntropyKind, ...], Field(min_length=1)] = ("aes",)

    @property
    def ways(self) -> list[Way]:
        """Every combination of entropy and number of threads."""
        return [Way(kind, threads) for kind in self.entropy for threads in self.threads]
