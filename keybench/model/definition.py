"""The parts of a metric's declaration. The declarations themselves are in `metric`."""

from dataclasses import dataclass
from enum import Enum, StrEnum
from functools import partial
from typing import Final, Literal, Self

Direction = Literal["lower", "higher", "neither"]


class Theme(Enum):
    """What a metric is about: the title of its table in a report. The tables are in this order."""

    TIME = "Time to insert"
    KEYS = "Keys alone"
    PAGES = "Pages of the key's index"
    SPLITS = "Splits"
    POSITION = "Where keys go"
    STORAGE = "Log, pages read and written, size"
    AFTERWARDS = "Reads"
    CONTENTION = "More"
    MACHINE = "The machine"


@dataclass(frozen=True)
class Definition:
    """What a metric means, and which rules apply to it."""

    title: str
    unit: str
    better: Direction
    text: str
    theme: Theme
    """`KEYS`: trials without a database have these metrics and no others. `POSITION`: these depend only on the order of
    the keys, so they are the same on every database. `MACHINE`: these describe the machine, so their subject is
    `MACHINE`."""
    exact: bool = False
    """Whether the same keys in the same order always give the same value."""
    of_index: bool = False
    """Whether it can be read from any finished index, not only the key's. Counters cannot: they need a start value."""
    needs_server: bool = False
    """Whether a trial without a server gives it as absent, with the reason."""
    some_engines: bool = False
    """Whether engines and writers that do not have it may leave it out without a reason."""

    @property
    def is_time(self) -> bool:
        """Whether the value depends on the machine's speed. Times of the scenario are exact, so they do not."""
        return self.unit.split(" ")[0] in {"s", "ms", "µs", "ns"} and not self.exact

    @property
    def is_percentage(self) -> bool:
        """Whether the value is a percentage of something."""
        return self.unit.startswith("%")


class Declared(StrEnum):
    """A string that carries its definition."""

    definition: Definition

    def __new__(cls, name: str, definition: Definition | None = None) -> Self:
        """A new member. A look-up, as in `Metric("leaf_pages")`, finds one and does not come here."""
        assert definition is not None
        member = str.__new__(cls, name)
        member._value_ = name
        member.definition = definition
        return member


DEEP_LEAVES: Final = 10
"""An insert is deep if it is more than this many leaves behind the right edge."""

HIGHEST: Final = "Of several writers, the highest value of any one."
"""One number for all writers must not hide the writer that lags."""

P95: Final = f"95 % of inserts that lag have less. {HIGHEST}"

time = partial(Definition, theme=Theme.TIME)
keys = partial(Definition, theme=Theme.KEYS)
pages = partial(Definition, theme=Theme.PAGES, exact=True, of_index=True)
splits = partial(Definition, theme=Theme.SPLITS, exact=True)
position = partial(Definition, theme=Theme.POSITION, exact=True)
storage = partial(Definition, theme=Theme.STORAGE)
afterwards = partial(Definition, theme=Theme.AFTERWARDS)
phase = partial(Definition, theme=Theme.AFTERWARDS, some_engines=True)
contention = partial(Definition, theme=Theme.CONTENTION, some_engines=True)
machine = partial(Definition, theme=Theme.MACHINE)
