"""What the declaration of a metric says; `metric` has the declarations."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import Literal

Direction = Literal["lower", "higher", "neither"]


class Theme(Enum):
    """What a metric is about, by the title of its table in a report; tables stand in this order."""

    TIME = "Time to insert"
    KEYS = "Keys alone"
    PAGES = "Pages of the key's index"
    SPLITS = "Splits"
    POSITION = "Where keys go"
    STORAGE = "Log, pages read and written, size"
    AFTERWARDS = "Reads, deletions, refill"
    CONTENTION = "More"
    MACHINE = "The machine"


@dataclass(frozen=True)
class Definition:
    """What a metric means, and which rules hold for it."""

    title: str
    unit: str
    better: Direction
    text: str
    theme: Theme
    """`KEYS`: of trials without a database, which have no others. `POSITION`: of the order of the keys alone, so the
    same on every database. `MACHINE`: of the machine around a trial, so their subject is `MACHINE`."""
    exact: bool = False
    """The same keys in the same order give the same number again."""
    of_index: bool = False
    """What can be read from any finished index, also from one beside the key's. Counters cannot: they need a start."""
    needs_server: bool = False
    """A trial without a server gives it as absent, with the reason."""
    some_engines: bool = False
    """Engines and writers that do not have it neither give it nor say why not."""
    shards: Literal["sum", "mean", "none"] = "sum"
    """How the values of several tables become one: as a mean, the leaf pages are the weights."""

    @property
    def is_time(self) -> bool:
        """Whether the machine's pace is in the value. Times of the scenario are exact, so not among these."""
        return self.unit.split(" ")[0] in {"s", "ms", "µs", "ns"} and not self.exact

    @property
    def is_percentage(self) -> bool:
        """Whether the value is a percentage of something."""
        return self.unit.startswith("%")
