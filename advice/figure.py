"""A number of an answer, with its interval and what it rests on."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Kind = Literal["exact model", "scaled", "unconfirmed model", "measured"]
"""What a figure rests on: all rows through a page model that servers have confirmed; a smaller page model, scaled to
the number of rows; either of these for an engine whose model no server has confirmed; a measurement in a results
database."""


@dataclass(frozen=True)
class Figure:
    """A value and its 95 % interval."""

    value: float
    low: float
    high: float
    kind: Kind

    def __post_init__(self) -> None:
        if not self.low <= self.value <= self.high:
            raise ValueError(f"{self.value} does not lie in its interval, {self.low} to {self.high}")

    @property
    def exact(self) -> bool:
        """Whether the interval is a point."""
        return self.low == self.high
