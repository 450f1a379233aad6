"""What a scenario file may say. Files are TOML; a field that is not named here is an error.

A scenario is found by its name among the files beside this module, or by the path of a file anywhere.
"""

from __future__ import annotations

import tomllib
from collections.abc import Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from importlib.resources import files
from pathlib import Path
from typing import Annotated, Any, Literal, Self

from pydantic import AwareDatetime, BaseModel, ConfigDict, Field, ValidationError, model_validator

from keybench.errors import UsageError, unknown_name

Rows = Annotated[int, Field(gt=0)]
Share = Annotated[float, Field(ge=0, lt=1)]


class _Part(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)


class TablePart(_Part):
    """The table: `payload` characters beside the key (several make several trials), and the key's role."""

    payload: Annotated[tuple[Annotated[int, Field(ge=0, le=1_000_000)], ...], Field(min_length=1)] = (100,)
    key: Literal["clustered", "nonclustered"] = "clustered"

    @model_validator(mode="before")
    @classmethod
    def _one_or_several(cls, values: Any) -> Any:
        if isinstance(values, dict) and "payload" in values:
            payload = values["payload"]
            return {**values, "payload": tuple(payload) if isinstance(payload, list) else (payload,)}
        return values


class LoadPart(_Part):
    """How rows are sent: in arrival order, `rows_per_tx` rows a transaction."""

    rows_per_tx: Annotated[int, Field(gt=0, le=1_000_000)] = 1000


class ServerPart(_Part):
    """What the scenario asks of the server: `small` shrinks its page cache, by the engine's own table of settings."""

    cache: Literal["default", "small"] = "default"


class WriterPart(_Part):
    """One writer; `rate` is rows a second of virtual time, which the keys carry."""

    id: Annotated[str, Field(min_length=1)]
    rate: Annotated[float, Field(gt=0)] = 1000.0


class AfterPart(_Part):
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


class GenerationPart(_Part):
    """Makes the trials ones without a database: `rows` keys by so many threads, from each kind of entropy."""

    threads: Annotated[tuple[Annotated[int, Field(ge=1, le=64)], ...], Field(min_length=1)] = (1,)
    entropy: Annotated[tuple[EntropyKind, ...], Field(min_length=1)] = ("aes",)

    @property
    def ways(self) -> list[Way]:
        """Every combination of the two."""
        return [Way(kind, threads) for kind in self.entropy for threads in self.threads]

    @model_validator(mode="before")
    @classmethod
    def _lists(cls, values: Any) -> Any:
        if isinstance(values, dict):
            return {name: tuple(value) if isinstance(value, list) else value for name, value in values.items()}
        return values


class Scenario(_Part):
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
    table: TablePart = TablePart()
    load: LoadPart = LoadPart()
    server: ServerPart = ServerPart()
    writer: tuple[WriterPart, ...] = (WriterPart(id="writer"),)
    after: AfterPart = AfterPart()
    generation: GenerationPart | None = None

    @model_validator(mode="after")
    def _consistent(self) -> Self:
        if (self.rows is None) == (self.index_over_cache is None):
            raise ValueError("give either rows or index_over_cache")
        if self.generation and (self.rows is None or len(self.writer) > 1):
            raise ValueError("a scenario with generation has rows, and one writer, whose rate is each thread's")
        names = [writer.id for writer in self.writer]
        if len(set(names)) < len(names):
            raise ValueError(f"two writers have the same id: {', '.join(names)}")
        return self

    @property
    def rate(self) -> float:
        """Rows a second of virtual time, all writers together."""
        return sum(writer.rate for writer in self.writer)

    def with_equal_writers(self, n: int) -> Scenario:
        """The same work dealt to n equal writers; UsageError where the scenario names its own."""
        if len(self.writer) > 1:
            raise UsageError(f"scenario {self.name} names its own {len(self.writer)} writers: leave out --writers.")
        return self.model_copy(
            update={"writer": tuple(WriterPart(id=f"writer-{i + 1}", rate=self.rate / n) for i in range(n))}
        )


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
    content["writer"] = tuple(content.get("writer", ({"id": "writer"},)))
    content["layouts"] = tuple(content.get("layouts", ()))
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
    return f"{where}: {message}" + ("" if item["type"] == "missing" else f" (it says {item['input']!r})")


def _field_names() -> list[str]:
    parts: tuple[type[BaseModel], ...] = (
        Scenario,
        TablePart,
        LoadPart,
        ServerPart,
        WriterPart,
        AfterPart,
        GenerationPart,
    )
    return sorted({name for part in parts for name in part.model_fields})
