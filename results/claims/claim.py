"""Claims as data: what was published, where, and which comparison of which trials tests it.

The files `data/*.toml` hold sources, claims and their questions; a claim that cannot be tested has a reason instead.
This module defines their fields; any other field is an error.
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
from keybench.model.names import CONTROL, MODEL_SERVER, NO_DATABASE
from keybench.results.analysis.p_values import ENOUGH_BLOCKS

Text = Annotated[str, Field(min_length=1)]
Factor = Annotated[float, Field(gt=0)]


ARITHMETIC = "arithmetic"
"""The question of a claim that is tested by arithmetic, without any trial."""


class _Part(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class Publication(_Part):
    """The publication that claims come from, and how its setup differs from any run of keybench."""

    author: Text
    year: int | None = None
    """None if the source does not say."""
    where: Text
    differs: Text


class ClaimSide(_Part):
    """One side of a comparison: a layout and, if it matters, its column (without a database: how keys are made)."""

    layout: Text
    column: str = ""

    @staticmethod
    def parse(text: str) -> ClaimSide:
        """`layout` or `layout@column`."""
        layout, _, column = text.partition("@")
        return ClaimSide(layout=layout, column=column)

    def __str__(self) -> str:
        """The text that `parse` reads."""
        return f"{self.layout}@{self.column}" if self.column else self.layout


class ClaimQuestion(_Part):
    """One figure of a claim and the comparison that tests it.

    `ratio`: the metric of layout `of` over that of layout `to` in the same block. `difference`: one minus the other.
    `value`: the metric itself (with `per = "row"` divided by the rows). `growth`: the time of the last of `chunks`
    equal parts of the rows over the time of the first. `computed`: the result of arithmetic, or of a
    page model in a setup of its own (docs/theory.md), without any run.
    """

    compare: Literal["ratio", "difference", "value", "growth", "computed"]
    published: Text
    """The figure as published."""
    of: str = ""
    to: str = ""
    metric: Metric = Metric.INSERT_SECONDS
    databases: tuple[Text, ...] = ()
    """`none` for trials without a database."""
    scenario: str = ""
    also: tuple[Text, ...] = ()
    """Other scenarios whose trials also answer the question if there are none of the first."""
    payload: int | None = None
    """The payload, for scenarios that have several."""
    writers: int | None = None
    """The number of writers, if it differs from the scenario's."""
    rows: int | None = None
    """Rows that the command asks for, if the number differs from the scenario's."""
    per: Literal["trial", "row"] = "trial"
    chunks: Annotated[int, Field(ge=2)] = 2
    value: float | None = None
    within: Factor = 0.05
    """Values this close to the published one, or to no effect, equal it: a factor minus 1, or a difference in units."""
    low: float | None = None
    high: float | None = None
    """The published range, instead of `value`; if only one bound is given, the other side is open."""
    direction: Literal["", "less", "more"] = ""
    """The source says only `less` or `more`; a difference counts if it is larger than `within`."""
    same: bool = False
    """The source says that there is no difference; differences up to `within` count as none."""
    live: bool = False
    """A page model cannot answer: it assumes what is claimed."""
    rows_at_least: int = 0
    """The claim can be tested with at least this many rows."""
    index_over_cache: float = 0
    """The claim can be tested if the index of `of` is at least this many times as large as the server's cache."""
    ours: float | None = None
    """The result of the arithmetic, as a number."""
    how: str = ""
    """The arithmetic."""
    result: str = ""
    """The result of the arithmetic, as text."""
    on: tuple[Text, ...] = ()
    """Databases that the command names, if one command cannot measure all of them."""

    @property
    def sides(self) -> tuple[ClaimSide, ...]:
        """The layouts that take part."""
        return tuple(ClaimSide.parse(text) for text in (self.of, self.to) if text)

    @property
    def unit(self) -> str:
        """The unit of its scale: `×` for ratios."""
        if self.compare in ("ratio", "growth"):
            return "×"
        if self.compare == "computed":
            return ""
        if self.compare == "difference" and self.metric.definition.is_percentage:
            return "points"
        return f"{self.metric.definition.unit}{' a row' if self.per == 'row' else ''}"

    def phrase(self, scenario: str = "") -> str:
        """What is compared, in a few words; `scenario` is given if it differs from the question's own."""
        if self.compare == "computed":
            return ARITHMETIC
        title, where = self.metric.definition.title.lower(), f"in {scenario or self.scenario}"
        if self.compare == "growth":
            part = "half" if self.chunks == 2 else f"1/{self.chunks} of the rows"
            return f"insert time of the last {part} over the first, {self.of}, {where}"
        if self.compare == "value":
            return f"{title}{' a row' if self.per == 'row' else ''}, {self.of}, {where}"
        how = "over" if self.compare == "ratio" else "minus"
        return f"{title}, {self.of} {how} {self.to}, {where}"

    @property
    def no_effect(self) -> float | None:
        """The value that means no effect; None if no value does."""
        return {"ratio": 1.0, "growth": 1.0, "difference": 0.0}.get(self.compare)

    @property
    def negligible(self) -> tuple[float, float]:
        """(lowest, highest) effect that counts as none: up to `within` if only a direction was published, else exactly
        "no effect". For comparisons that have a `no_effect`, but not for `same`."""
        centre = self.no_effect
        assert centre is not None
        margin = self.within if self.direction else 0.0
        if self.compare == "difference":
            return centre - margin, centre + margin
        return centre / (1 + margin), centre * (1 + margin)

    @property
    def published_range(self) -> tuple[float, float]:
        """(lowest, highest) figure that counts as the published one."""
        if self.low is not None or self.high is not None:
            return (-inf if self.low is None else self.low, inf if self.high is None else self.high)
        # what was published: a figure; or that there is no effect, or one in a direction
        value = self.no_effect if self.same or self.direction else self.value
        assert value is not None
        if self.compare == "difference":
            low, high = value - self.within, value + self.within
        else:
            low, high = sorted((value / (1 + self.within), value * (1 + self.within)))  # value may be negative
        # of a direction: all values beyond those that are no effect
        return {"": (low, high), "less": (-inf, low), "more": (high, inf)}[self.direction]

    @model_validator(mode="after")
    def _consistent(self) -> Self:
        """The question itself; ValueError if its fields contradict one another or leave the comparison open."""
        bounded = self.low is not None or self.high is not None
        if [self.value is not None, bounded, bool(self.direction), self.same].count(True) != 1:
            raise ValueError("give exactly one of: value; low or high; direction; same")
        if self.compare == "computed":
            if self.ours is None or self.of or self.databases:
                raise ValueError("computed needs ours, and no trials")
        elif (self.compare in ("ratio", "difference")) != bool(self.to):
            raise ValueError("ratio and difference have two sides, all other comparisons have one")
        elif self.compare == "value" and self.metric.definition.is_time:  # it would describe a machine, not a claim
            raise ValueError("times are compared only as ratios")
        elif self.compare == "difference" and not self.exact:  # an interval is computed for ratios alone
            raise ValueError("only figures that repeat exactly are compared by their difference")
        return self

    @property
    def exact(self) -> bool:
        """Whether the figure repeats exactly, so that one block is enough."""
        return self.compare == "computed" or self.metric.definition.exact

    @property
    def modellable(self) -> bool:
        """Whether a page model can answer."""
        return not self.live and self.exact and self.databases != (NO_DATABASE,)

    @property
    def command(self) -> str:
        """The command that answers it; empty if arithmetic does."""
        if not self.scenario:
            return ""
        keys_alone = NO_DATABASE in self.databases
        sides = [side for side in self.sides if side.layout != CONTROL]  # which is in every run
        options = {
            "--db": "" if keys_alone else ",".join(self.on or self.databases),
            "--server": MODEL_SERVER if self.modellable else "",
            "--scenario": self.scenario,
            "--rows": self.rows,
            "--writers": self.writers,
            "--column": "" if keys_alone else ",".join(sorted({side.column for side in sides if side.column})),
            "--blocks": 1 if self.exact else ENOUGH_BLOCKS,
            "--layout": ",".join(dict.fromkeys(side.layout for side in sides)) or CONTROL,
        }
        return " ".join(["keybench run", *(f"{option} {value}" for option, value in options.items() if value)])


class Claim(_Part):
    """One published claim: questions that runs can answer, or the reason why there are none."""

    id: Text
    source: Publication
    statement: Text
    """In keybench's words."""
    differs: str = ""
    """What is different here, in addition to the source's `differs`."""
    question: tuple[ClaimQuestion, ...] = ()
    reason: str = ""

    @model_validator(mode="after")
    def _asked_or_not(self) -> Self:
        if bool(self.question) == bool(self.reason):
            raise ValueError("give either questions or the reason why there are none")
        return self


@cache
def claims() -> tuple[Claim, ...]:
    """All claims: files by name, and within a file in its order. UsageError for a file that was changed wrongly."""
    all_claims: list[Claim] = []
    folder = files(__package__) / "data"
    for name in sorted(item.name for item in folder.iterdir() if item.name.endswith(".toml")):
        all_claims += parse(name, (folder / name).read_text(encoding="utf-8"))
    return tuple(all_claims)


def parse(name: str, text: str) -> list[Claim]:
    """The claims of one file: `[source.NAME]` tables, `[reason]` texts by name, `[[claim]]` entries. Raises UsageError
    for anything that this module does not define."""
    content = tomllib.loads(text)
    sources, reasons = content.get("source", {}), content.get("reason", {})
    parsed = []
    for entry in content.get("claim", []):
        try:
            entry = entry | {"source": Publication.model_validate(sources[entry["source"]])}
            if "reason" in entry:
                entry["reason"] = reasons.get(entry["reason"], entry["reason"])  # its name, or the text
            parsed.append(Claim.model_validate(entry))
        except (KeyError, ValidationError) as error:
            raise UsageError(f"{name}, claim {entry.get('id', '?')}: {error}. Correct the file.") from None
    return parsed
