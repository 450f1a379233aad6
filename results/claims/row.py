"""The result of a claim on one database: plain strings and numbers, for tables, pictures and files."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, get_args

Verdict = Literal["reproduced", "not reproduced", "contradicted", "undecided", "not measured", "not testable"]
"""`contradicted`: the effect goes the other way, and the interval excludes "no effect". `undecided`: the interval
contains both the published figure and "no effect", or there are too few blocks for an interval."""

ARITHMETIC = "arithmetic"
"""The question of a claim that is tested by arithmetic, without any trial."""

VERDICTS: tuple[Verdict, ...] = get_args(Verdict)


@dataclass(frozen=True)
class ClaimRow:
    """One figure of one claim on one database, or a claim without a figure.

    Numbers are in `unit`. `estimate`, `low` and `high` are None if nothing was measured. `published_low` and
    `published_high` bound what counts as the published figure: a bound is None if that side is open, and both are None
    if the claim has no figure here.
    """

    claim: str
    """The claim's id; several rows may share it."""
    source: str
    """Author, year and place."""
    statement: str
    """What is claimed, in keybench's words."""
    published: str
    """The figure as published, or the claim in words if it has none."""
    published_low: float | None
    published_high: float | None
    unit: str
    """`×` for ratios, else the metric's unit."""
    no_effect: float | None
    """The value that means no effect: 1 for ratios, 0 for differences, None for plain values."""
    question: str
    """What is compared here, with layouts, columns and metric, as a phrase."""
    database: str
    """The engine's name; `none` for trials without a database; empty if nothing was measured."""
    server: str
    """The kind of server, `model` for a page model; empty if nothing was measured."""
    rows: int
    """Rows of the trials that answered; 0 if none did."""
    run: str
    """The run's id; empty if nothing was measured."""
    estimate: float | None
    low: float | None
    high: float | None
    ours: str
    """Estimate, interval and blocks as text; empty if nothing was measured."""
    blocks: int
    """Blocks that the interval rests on."""
    origin: str
    """`measured`, `derived`, `modelled`, `computed` (arithmetic alone), or empty."""
    verdict: Verdict
    reason: str
    """The reason for the verdict, why the claim is not testable, or what is missing; empty if none is needed."""
    differs: str
    """What is different from the published setup."""
    command: str
    """The command that measures it; empty if none does."""

    @property
    def modelled(self) -> bool:
        """Whether a page model stands in for a server."""
        return self.origin == "modelled"
