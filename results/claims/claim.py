"""Claims as data: what was published, where, and which comparison of which trials tests it.

The files `data/*.toml` hold sources, claims and their questions; a claim that cannot be tested has a reason instead.
What may stand there is said here, and a field that is not named here is an error.
"""

from __future__ import annotations

import tomllib
from functools import cache
from importlib.resources import files
from math import inf
from typing import Annotated, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from keybench.errors import UsageError
from keybench.model.metric import Metric
from keybench.model.names import NO_DATABASE

Text = Annotated[str, Field(min_length=1)]
Factor = Annotated[float, Field(gt=0)]


class _Part(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class Source(_Part):
    """Where claims come from, and what is different from its setup wherever keybench runs."""

    author: Text
    year: int | None = None
    """None where the text says none."""
    where: Text
    differs: Text


class Side(_Part):
    """One side of a comparison: a layout, and its column (of keys alone: how they were made) where that matters."""

    layout: Text
    column: str = ""

    @staticmethod
    def parse(text: str) -> Side:
        """`layout` or `layout@column`."""
        layout, _, column = text.partition("@")
        return Side(layout=layout, column=column)

    def __str__(self) -> str:
        """As it is parsed."""
        return f"{self.layout}@{self.column}" if self.column else self.layout


class Question(_Part):
    """One figure of a claim and the comparison that tests it.

    `ratio` is a metric of one layout over another's in the same block, `difference` one less the other, `value` the
    metric itself (over the rows where `per` says so), `growth` the time of the last of `chunks` equal parts of the rows
    over that of the first, `computed` what arithmetic gives without any run.
    """

    compare: Literal["ratio", "difference", "value", "growth", "computed"]
    published: Text
    """The figure as published."""
    of: str = ""
    to: str = ""
    metric: Metric = Metric.INSERT_SECONDS
    databases: tuple[Text, ...] = ()
    """`none` for keys alone."""
    scenario: str = ""
    also: tuple[Text, ...] = ()
    """Other scenarios whose trials answer as well, where those of the first are not there."""
    payload: int | None = None
    """Of a scenario that has several."""
    writers: int | None = None
    """Where they are not the scenario's."""
    rows: int | None = None
    """Rows to ask for where they are not the scenario's."""
    per: Literal["trial", "row"] = "trial"
    chunks: Annotated[int, Field(ge=2)] = 2
    value: float | None = None
    within: Factor = 0.05
    """How far from the published value, or from no effect, nothing differs: a factor less 1; of differences, units."""
    low: float | None = None
    high: float | None = None
    """The published region, instead of `value`; one alone leaves the other side open."""
    direction: Literal["", "less", "more"] = ""
    """Only this much was published: which of the two is less, taken as more than `within`."""
    same: bool = False
    """No difference was published: up to `within`."""
    live: bool = False
    """No page model answers, since it takes for granted what is claimed."""
    rows_at_least: int = 0
    index_over_cache: float = 0
    """Smallest size of the index of `of` over the server's cache at which the claim can be tested."""
    ours: float | None = None
    """What arithmetic gives."""
    how: str = ""
    """The arithmetic."""
    told: str = ""
    """The figure that arithmetic gives, as text."""
    on: tuple[Text, ...] = ()
    """Databases that the command names, where not all can be had with one command."""

    @property
    def sides(self) -> tuple[Side, ...]:
        """The layouts that take part."""
        return tuple(Side.parse(text) for text in (self.of, self.to) if text)

    @property
    def no_effect(self) -> float | None:
        """Where no effect lies on the scale of the comparison; None where there is no such place."""
        return {"ratio": 1.0, "growth": 1.0, "difference": 0.0}.get(self.compare)

    @property
    def nil(self) -> tuple[float, float]:
        """From where to where an effect is hardly there: one place, unless only its direction was published."""
        nothing = self.no_effect
        assert nothing is not None
        margin = self.within if self.direction else 0.0
        if self.compare == "difference":
            return nothing - margin, nothing + margin
        return nothing / (1 + margin), nothing * (1 + margin)

    @property
    def region(self) -> tuple[float, float]:
        """(lowest, highest) figure that counts as the published one."""
        if self.low is not None or self.high is not None:
            return (-inf if self.low is None else self.low, inf if self.high is None else self.high)
        value = self.no_effect if self.same or self.direction else self.value
        assert value is not None
        if self.compare == "difference":
            low, high = value - self.within, value + self.within
        else:
            low, high = sorted((value / (1 + self.within), value * (1 + self.within)))
        return {"": (low, high), "less": (-inf, low), "more": (high, inf)}[self.direction]

    @model_validator(mode="after")
    def _consistent(self) -> Self:
        bounded = self.low is not None or self.high is not None
        if (self.value is not None) + bounded + bool(self.direction) + self.same != 1:
            raise ValueError("give one of value, low or high, direction, same")
        if (self.direction or self.same) and self.no_effect is None:
            raise ValueError(f"{self.compare} has no place of no effect: give value, low or high")
        if self.compare == "computed":
            if self.ours is None or not self.how or not self.told or self.of or self.databases:
                raise ValueError("computed needs ours, told and how, and no trials")
            return self
        if not (self.of and self.databases and self.scenario) or self.ours is not None or self.how or self.told:
            raise ValueError(f"{self.compare} needs of, databases and scenario, and computes nothing")
        if (self.compare in ("ratio", "difference")) != bool(self.to):
            raise ValueError("ratio and difference have two sides, the others one")
        if self.compare == "difference" and not self.exact:
            raise ValueError("differences are of figures that repeat exactly")
        if self.compare == "growth" and self.metric != Metric.INSERT_SECONDS:
            raise ValueError("growth is of insert time")
        if self.compare == "value" and self.metric.definition.is_time:  # it would tell about a machine, not a claim
            raise ValueError("times are compared as ratios alone")
        return self

    @property
    def exact(self) -> bool:
        """Whether the figure repeats exactly, so that one block tells it."""
        return self.compare == "computed" or self.metric.definition.exact

    @property
    def modellable(self) -> bool:
        """Whether a page model can answer."""
        return not self.live and self.exact and self.databases != (NO_DATABASE,)


class Claim(_Part):
    """One published claim: `questions` that runs can answer, or why there are none."""

    id: Text
    source: Source
    statement: Text
    """In keybench's words."""
    differs: str = ""
    """What is different here beyond what the source's says."""
    question: tuple[Question, ...] = ()
    reason: str = ""

    @model_validator(mode="after")
    def _asked_or_not(self) -> Self:
        if bool(self.question) == bool(self.reason):
            raise ValueError("give either questions or the reason why there are none")
        return self


@cache
def claims() -> tuple[Claim, ...]:
    """All claims, by file and in the order in which they stand there.

    Raises UsageError for data that are not as they should be, which only a changed file can be.
    """
    found: list[Claim] = []
    folder = files(__package__) / "data"
    for name in sorted(item.name for item in folder.iterdir() if item.name.endswith(".toml")):
        found += parse(name, (folder / name).read_text(encoding="utf-8"))
    return tuple(found)


def parse(name: str, text: str) -> list[Claim]:
    """The claims of one file: `[source.NAME]` tables, `[reason]` texts by name, `[[claim]]` entries.

    Raises UsageError for what is not as this module says.
    """
    content = tomllib.loads(text)
    sources, reasons = content.get("source", {}), content.get("reason", {})
    found = []
    for entry in content.get("claim", []):
        try:
            entry = entry | {"source": Source.model_validate(sources[entry["source"]])}
            if "reason" in entry:
                entry["reason"] = reasons.get(entry["reason"], entry["reason"])
            found.append(Claim.model_validate(entry))
        except (KeyError, ValidationError) as error:
            raise UsageError(f"{name}, claim {entry.get('id', '?')}: {error}. Mend the file.") from None
    return found
