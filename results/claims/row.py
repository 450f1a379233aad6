"""What a claim comes to on one database: plain strings and numbers, for tables, pictures and files."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, get_args

Verdict = Literal["reproduced", "not reproduced", "contradicted", "undecided", "not measured", "not testable"]
"""`contradicted`: the effect goes the other way, and the interval leaves no room for none. `undecided`: the interval
has room for the published figure and for no effect, or there are too few blocks for one."""

ARITHMETIC = "arithmetic"
"""The question of what no trial answers."""

VERDICTS: tuple[Verdict, ...] = get_args(Verdict)


@dataclass(frozen=True)
class ClaimRow:
    """One figure of one claim on one database, or one claim that has none.

    Numbers lie on the scale of `unit`; `estimate`, `low` and `high` are None where nothing was measured, and
    `published_low`, `published_high` bound what counts as the published figure: None where open, both None where the
    claim has no figure here.
    """

    claim: str
    """The claim's id; several rows may share it."""
    source: str
    """Author, year and place."""
    statement: str
    """What is claimed, in keybench's words."""
    published: str
    """The figure as published, or what is claimed without one."""
    published_low: float | None
    published_high: float | None
    unit: str
    """`×` for ratios, else the metric's unit."""
    no_effect: float | None
    """Where no effect lies on this scale: 1 for ratios, 0 for differences, None for plain values."""
    question: str
    """What is compared here, with layouts, columns and metric, as a phrase."""
    database: str
    """The engine's name; `none` for keys alone; empty where nothing was measured."""
    server: str
    """The kind of server, `model` for a page model; empty where nothing was measured."""
    rows: int
    """Rows of the trials that answered, 0 where none did."""
    run: str
    """The run's id; empty where nothing was measured."""
    estimate: float | None
    low: float | None
    high: float | None
    ours: str
    """Estimate, interval and blocks as text; empty where nothing was measured."""
    blocks: int
    """Blocks that the interval rests on."""
    origin: str
    """`measured`, `derived`, `modelled`, `computed` (arithmetic alone), or empty."""
    verdict: Verdict
    reason: str
    """Why the verdict, why it is not testable, or what is missing; empty where the figures speak for themselves."""
    differs: str
    """What is different from the published setup."""
    command: str
    """The command that measures it; empty where none does."""

    @property
    def modelled(self) -> bool:
        """Whether a page model stands in for a server."""
        return self.origin == "modelled"
