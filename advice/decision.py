"""What to do about the keys that a table has: leave them, or go one of the ways, and whether that is worth it."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from keybench.advice.figure import LEAST_BYTES, LEAST_SHARE
from keybench.advice.how_to.existing import Name, Option
from keybench.advice.needs import Needs, coming
from keybench.advice.ranking import Choice

_TO_CHOOSE: Final[tuple[Name, ...]] = ("switch", "switch-rebuild-later", "retype")
"""Ways that may be recommended. A new key for every row is none of them: all that refers to a row has its key."""


@dataclass(frozen=True)
class OptionCost:
    """What one way to go costs, over the rows to come."""

    option: Option
    index_bytes: float
    """After the last row."""
    reads: float | None
    """Pages that an insert reads; None if no model knows it."""
    total: float
    """Bytes: the index after the last row, the log and the reads of all rows to come, what a build writes, and the keys
    in other indexes and tables."""


@dataclass(frozen=True)
class Decision:
    """The ways that people can go, and the one that is recommended."""

    stay: OptionCost
    others: Sequence[OptionCost]
    """The cheapest first."""
    rows: int
    """That are to come."""

    @property
    def saved(self) -> float:
        """Bytes that the cheapest other way saves; 0 if none saves any."""
        return max(0.0, self.stay.total - self.others[0].total) if self.others else 0.0

    @property
    def share(self) -> float:
        """The saved bytes as a share of those that staying costs."""
        return self.saved / self.stay.total

    @property
    def worth_it(self) -> bool:
        """Whether the saved bytes are worth a change."""
        return self.share >= LEAST_SHARE and self.saved >= LEAST_BYTES

    @property
    def way(self) -> OptionCost:
        """The way to go."""
        return self.others[0] if self.worth_it else self.stay


def decide(needs: Needs, options: Sequence[Option], today: Choice, best: Choice) -> Decision:
    """Adds up the bytes of each way: `today` are the keys that the table has, `best` those that new rows would get."""
    rows_to_come = coming(needs.rows, needs.existing)
    leaf_bytes = best.forecast.bytes_a_leaf

    def cost_of(option: Option) -> OptionCost:
        new_keys = today if option.name == "stay" else best
        index = option.leaf_pages.value * leaf_bytes
        reads = new_keys.forecast.reads.value if new_keys.forecast.reads else None
        log = option.log_bytes.value if option.log_bytes else 0.0
        built = 2 * option.built_pages.value * leaf_bytes if option.built_pages else 0.0  # to the index and to the log
        # keys in the new type take as many bytes in other indexes and tables as the best ones do
        elsewhere = needs.rows * (best.elsewhere if option.name == "retype" else today.elsewhere)
        total = index + rows_to_come * (log + leaf_bytes * (reads or 0.0)) + built + elsewhere
        return OptionCost(option, index, reads, total)

    by_name = {option.name: cost_of(option) for option in options}
    others = sorted((by_name[name] for name in _TO_CHOOSE if name in by_name), key=lambda one: one.total)
    return Decision(by_name["stay"], others, rows_to_come)
