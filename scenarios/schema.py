"""What a scenario file may say. Files are TOML; a field that is not named here is an error.

A scenario is found by its name among the files beside this module, or by the path of a file anywhere.
"""

from __future__ import annotations

import tomllib
from collections.abc import Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from importlib.resources import files
from math import inf
from pathlib import Path
from typing import Annotated, Any, Literal, Self

from pydantic import AwareDatetime, BaseModel, Field, ValidationError, field_validator, model_validator

from keybench.errors import UsageError, unknown_name
from keybench.model.load_path import LOAD_PATHS, ROWS, LoadPath, load_path
from keybench.scenarios import timeline
from keybench.scenarios.grid import GridPart
from keybench.scenarios.part import Part
from keybench.scenarios.writers import ClockPart, DealPart, WriterPart

SKEW_ROWS = 1000
"""How far writers may run apart where a scenario does not say."""

Rows = Annotated[int, Field(gt=0)]
Share = Annotated[float, Field(ge=0, lt=1)]


class TablePart(Part):
    """The table: `payload` characters beside the key (several make several trials), and the key's role.

    `by-date`: rows say when they were created and lie in that order where the engine can do that. `fk`: the key is a
    foreign key, repeated in `children` rows, which are sent with their parent.
    """

    payload: Annotated[tuple[Annotated[int, Field(ge=0, le=1_000_000)], ...], Field(min_length=1)] = (100,)
    key: Literal["clustered", "nonclustered", "by-date", "fk"] = "clustered"
    children: Annotated[int, Field(ge=1, le=100)] = 1
    shards: Annotated[int, Field(ge=1, le=16)] = 1
    """Tables, among which each writer's rows go to that of its `shard`, divided by their number with remainder."""

    @model_validator(mode="before")
    @classmethod
    def _one_or_several(cls, values: Any) -> Any:
        if isinstance(values, dict) and "payload" in values:
            payload = values["payload"]
            return {**values, "payload": payload if isinstance(payload, list | tuple) else (payload,)}
        return values

    @model_validator(mode="after")
    def _children_of_parents(self) -> Self:
        if self.children > 1 and self.key != "fk":
            raise ValueError('only a table whose key is a foreign key has children: add key = "fk", or leave them out')
        return self


class LoadPart(Part):
    """How rows are sent: `rows_per_tx` rows a transaction, in arrival order unless the path is `bulk`."""

    rows_per_tx: Annotated[int, Field(gt=0, le=1_000_000)] = 1000
    skew_rows: Annotated[int, Field(ge=0)] = SKEW_ROWS
    """No writer begins a transaction further ahead of the slowest one's than so many rows of planned order."""
    path: str = ROWS.name
    """A name of `model.load_path`."""

    @field_validator("path")
    @classmethod
    def _known(cls, name: str) -> str:
        if name not in LOAD_PATHS:
            raise ValueError(f"Input should be {' or '.join(map(repr, LOAD_PATHS))}")
        return name


class ServerPart(Part):
    """What the scenario asks of the server: `small` shrinks its page cache, by the engine's own table of settings."""

    cache: Literal["default", "small"] = "default"


class BeforePart(Part):
    """What the table held before the application changed to the layout that is measured."""

    layout: Annotated[str, Field(min_length=1)]
    share: Annotated[float, Field(gt=0, lt=1)]
    """Share of the rows, the first ones, that have keys of it; then all writers start anew with the measured layout."""


class AfterPart(Part):
    """What follows the load: look-ups of each kind, then the oldest share is deleted, then a share is refilled."""

    reads: Annotated[int, Field(ge=0)] = 0
    delete_oldest: Share = 0.0
    refill: Share = 0.0


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
        """As it stands in results and reports."""
        return f"{_ENTROPY_TITLES[self.entropy]}, {self.threads} thread{'s' if self.threads > 1 else ''}"


class GenerationPart(Part):
    """Makes the trials ones without a database: `rows` keys by so many threads, from each kind of entropy."""

    threads: Annotated[tuple[Annotated[int, Field(ge=1, le=64)], ...], Field(min_length=1)] = (1,)
    entropy: Annotated[tuple[EntropyKind, ...], Field(min_length=1)] = ("aes",)

    @property
    def ways(self) -> list[Way]:
        """Every combination of the two."""
        return [Way(kind, threads) for kind in self.entropy for threads in self.threads]


class Scenario(Part):
    """The work of a trial. Exactly one of `rows` and `index_over_cache` says how many rows."""

    name: str
    title: Annotated[str, Field(min_length=1)]
    source: str = ""
    rows: Rows | None = None
    index_over_cache: Annotated[float, Field(gt=0)] | None = None
    """Rows are as many as make the native 16-byte key's index this many times the server's cache."""
    start: AwareDatetime
    blocks: Annotated[int, Field(gt=0)] = 1
    """Repetitions where none are asked for."""
    layouts: tuple[str, ...] = ()
    """Layouts that are measured where none are named; all where empty."""
    columns: tuple[str, ...] = ()
    """Columns in which they are measured where none are named (`native`: the engine's own); each layout's default where
    empty."""
    table: TablePart = TablePart()
    load: LoadPart = LoadPart()
    server: ServerPart = ServerPart()
    writer: tuple[WriterPart, ...] = (WriterPart(id="writer"),)
    deal: DealPart = DealPart()
    before: BeforePart | None = None
    after: AfterPart = AfterPart()
    grid: GridPart | None = None
    generation: GenerationPart | None = None

    @model_validator(mode="after")
    def _consistent(self) -> Self:
        if problem := self.load_path.refuses_table(self.table.key):
            raise ValueError(problem)
        if self.table.key == "fk" and (self.after.reads or self.after.delete_oldest or self.after.refill):
            raise ValueError("what follows the load is done by keys that have one row each: leave out after")
        if not self.writer:
            raise ValueError("the list of writers is empty: name one, or leave it out for one of 1,000 rows a second")
        if (self.rows is None) == (self.index_over_cache is None):
            raise ValueError("give either rows or index_over_cache")
        if self.generation and (self.rows is None or len(self.writer) > 1 or self.timed):
            raise ValueError("a scenario with generation has rows, and one writer, whose rate is each thread's")
        if self.table.shards > 1 and (problem := self._unsharded()):
            raise ValueError(problem)
        if self.grid and self.table.shards > 1:
            raise ValueError("a scenario with a grid fills one index: leave out the grid, or shards")
        if self.grid and self.generation:
            raise ValueError("a scenario with generation fills no index: leave out the grid")
        if self.grid and len({writer.clock for writer in self.writer}) > 1:
            raise ValueError(
                "writers of a scenario with a grid have different clocks: make them alike, or leave it out"
            )
        names = [writer.id for writer in self.writer]
        if len(set(names)) < len(names):
            raise ValueError(f"two writers have the same id: {', '.join(names)}")
        if self.rows is None and timeline.sent(self.writer) != inf:
            raise ValueError("a scenario with index_over_cache needs a writer that never stops: leave out its stop")
        if self.rows is not None and (problem := timeline.problem(self.writer, self.rows)):
            raise ValueError(problem)
        return self

    def _unsharded(self) -> str:
        """Why its rows cannot go to several tables; empty where they can."""
        count = self.table.shards
        if self.after.reads or self.after.delete_oldest or self.after.refill:
            return "what follows the load is done in one table: leave out after, or shards"
        idle = set(range(count)) - {writer.shard % count for writer in self.writer}
        if idle:
            return f"no writer sends rows to table {min(idle) + 1} of {count}: give one the shard {min(idle)}"
        return ""

    @property
    def load_path(self) -> LoadPath:
        """How rows reach the server."""
        return load_path(self.load.path)

    @property
    def timed(self) -> bool:
        """Whether keys must carry its own hours: writers come and go, have clocks or rates of their own, or change."""
        unlike = len({writer.rate for writer in self.writer}) > 1 or not all(writer.plain for writer in self.writer)
        return unlike or self.deal.mode != "own-rates" or self.before is not None

    @property
    def rate(self) -> float:
        """Rows a second of virtual time, all writers together."""
        return sum(writer.rate for writer in self.writer)

    def with_equal_writers(self, n: int) -> Scenario:
        """The same work dealt to n equal writers; UsageError where the scenario names its own."""
        if len(self.writer) > 1:
            raise UsageError(f"scenario {self.name} names its own {len(self.writer)} writers: leave out --writers.")
        (only,) = self.writer
        equal = {"rate": self.rate / n}
        return self.model_copy(
            update={"writer": tuple(only.model_copy(update=equal | {"id": f"writer-{i + 1}"}) for i in range(n))}
        )

    def phases(self, rows: int) -> tuple[timeline.Phase, ...]:
        """The phases of a load of so many rows; `rows` that are not the scenario's scale its rates, not its hours."""
        return timeline.phases(self.writer, self.rows or rows)


def scenario_names() -> list[str]:
    """Names of the scenarios that keybench brings."""
    return sorted(
        item.name.removesuffix(".toml") for item in files(__package__).iterdir() if item.name.endswith(".toml")
    )


def load_scenario(name: str) -> Scenario:
    """The scenario called `name`, or in the file `name` if that ends in .toml; UsageError for what is wrong with it."""
    if name.endswith(".toml"):
        path = Path(name)
        try:
            text = path.read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError) as error:
            raise UsageError(f"scenario file {name} cannot be read ({error}): check the path.") from None
        return parse_scenario(path.stem, text, where=name)
    if name not in scenario_names():
        unknown = unknown_name("scenario", name, scenario_names())
        raise UsageError(f"{unknown} Your own: give the path of a file that ends in .toml.")
    return parse_scenario(name, (files(__package__) / f"{name}.toml").read_text(encoding="utf-8"), where=name)


def parse_scenario(name: str, text: str, *, where: str) -> Scenario:
    """The scenario in a TOML text; `where` names it in errors, all of which are listed at once."""
    try:
        content = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise UsageError(f"scenario {where} is no valid TOML: {error}.") from None
    try:
        return Scenario(name=name, **content)
    except ValidationError as error:
        problems = "".join(f"\n  {_problem(item)}" for item in error.errors())
        raise UsageError(f"scenario {where}:{problems}\nFields: docs/scenarios.md.") from None


def _problem(item: Any) -> str:
    location: Sequence[str | int] = item["loc"]
    where = ".".join(str(part) for part in location) or "the file"
    if item["type"] == "extra_forbidden":
        near = get_close_matches(str(location[-1]), _field_names(), n=1)
        return f"{where}: no such field{f', did you mean {near[0]}?' if near else '.'}"
    message = item["msg"].removeprefix("Value error, ")
    if not location:
        return str(message)
    if item["type"] == "missing" or isinstance(item["input"], dict):  # a whole part would be repeated
        return f"{where}: {message}"
    return f"{where}: {message} (it says {item['input']!r})"


def _field_names() -> list[str]:
    parts: tuple[type[BaseModel], ...] = (
        Scenario,
        TablePart,
        LoadPart,
        ServerPart,
        WriterPart,
        ClockPart,
        DealPart,
        BeforePart,
        AfterPart,
        GenerationPart,
    )
    return sorted({name for part in parts for name in part.model_fields})
