"""A number of an answer, with its interval and what it rests on."""

from dataclasses import dataclass, replace
from typing import Final, Literal, Self

from keybench.databases.contract.engine import Engine
from keybench.model.sizes import digits

Kind = Literal["exact model", "scaled", "unconfirmed model"]
"""What a figure rests on: all rows through a page model that servers have confirmed; a smaller page model, scaled to
the number of rows; either of these for an engine whose model no server has confirmed."""

FEWEST_ROWS: Final = 1_000
"""Of a table that advice is for."""
LEAST_SHARE: Final = 0.10
LEAST_BYTES: Final = 1e9
"""What saves less than this share of the bytes, or fewer bytes, is not worth a change."""


def kind_of(on: Engine, *, exact: bool) -> Kind:
    """What a figure from the engine's page model rests on; `exact`: all rows were simulated."""
    if on.caveat:
        return "unconfirmed model"
    return "exact model" if exact else "scaled"


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

    @classmethod
    def around(cls, value: float, half: float, kind: Kind, *, least: float = 0.0) -> Self:
        """The value ± half, as far as that is not below `least`."""
        value = max(value, least)
        return cls(value, max(least, value - half), value + half, kind)

    @property
    def half(self) -> float:
        """The larger half of the interval."""
        return max(self.high - self.value, self.value - self.low)

    def times(self, factor: float) -> Self:
        """The figure multiplied by a positive number."""
        return replace(self, value=self.value * factor, low=self.low * factor, high=self.high * factor)


def spoken(count: float) -> str:
    """A count as people say it: 12,345; 48.3 million."""
    for unit, name in ((1e9, "billion"), (1e6, "million")):
        if count >= unit:
            return f"{digits(count / unit, 3)} {name}"
    return f"{count:,.0f}"
