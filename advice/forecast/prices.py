"""What costs come to in money, at the user's own prices: keybench has none."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields

from keybench.advice.forecast.load_cost import AT_THE_END, SECOND_HALF, RowCost, late
from keybench.errors import UsageError

_MILLION, _GB = 1e6, float(1 << 30)


@dataclass(frozen=True)
class Prices:
    """The table `[price]` of keybench.toml, in any currency. What is not given counts as 0."""

    currency: str = ""
    million_reads: float = 0.0
    """A million pages read."""
    million_writes: float = 0.0
    """A million pages written."""
    gb_log: float = 0.0
    """A GB of log."""
    gb_month: float = 0.0
    """A GB stored for a month."""

    @staticmethod
    def read(given: Mapping[str, object]) -> Prices:
        """From the values of the table. UsageError for a price that is no number of 0 or more."""
        values: dict[str, str | float] = {}
        for name, value in given.items():
            if name == "currency":
                values[name] = str(value)
                continue
            if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value < float("inf"):
                raise UsageError(f"keybench.toml: [price] {name} is {value!r}: give a number of 0 or more.")
            values[name] = float(value)
        return Prices(**values)  # type: ignore[arg-type]

    @property
    def given(self) -> bool:
        """Whether there is a price."""
        return any(getattr(self, field.name) for field in fields(self) if field.name != "currency")

    def of_million_rows(self, cost: RowCost) -> float:
        """A million more rows when all rows are there: reads, writes and log. What the model does not know counts as
        0."""
        ends = cost.ends
        each = late(ends, cost.read, AT_THE_END)[0] * self.million_reads / _MILLION
        if cost.written is not None:
            each += late(ends, cost.written, SECOND_HALF)[0] * self.million_writes / _MILLION
        if cost.log_bytes is not None:
            each += late(ends, cost.log_bytes, SECOND_HALF)[0] * self.gb_log / _GB
        return each * _MILLION

    def of_month(self, stored_bytes: float) -> float:
        """What is stored, for a month."""
        return stored_bytes / _GB * self.gb_month
