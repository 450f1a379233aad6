"""Numbers, lists and units as a report writes them."""

from __future__ import annotations

from collections.abc import Sequence
from math import floor, isfinite, log10

from keybench.model.definition import Direction
from keybench.model.metric import Metric
from keybench.results.analysis.groups import Summary

ARROWS: dict[Direction, str] = {"lower": "↓", "higher": "↑", "neither": ""}
BETTER: dict[Direction, str] = {"lower": "lower is better", "higher": "higher is better", "neither": ""}


def decimals(values: Sequence[float], digits: int = 3) -> int:
    """Decimals that give the largest of the values `digits` significant digits, and none to large ones."""
    largest = max((abs(value) for value in values if isfinite(value)), default=0.0)
    if largest == 0 or all(value == round(value) for value in values):
        return 0
    return min(max(0, digits - 1 - floor(log10(largest))), 6)


def number(value: float, places: int | None = None) -> str:
    """With thousands separators; three significant digits unless the decimals are given."""
    return f"{value:,.{decimals([value]) if places is None else places}f}".replace("-", "−")


def ratio(value: float) -> str:
    """As a multiple: 1.84×."""
    return f"{value:.2f}×" if value < 10 else f"{value:,.1f}×" if value < 100 else f"{value:,.0f}×"


def span(summary: Summary) -> str:
    """Where a ratio's median lies, in brackets: its interval, or its range where blocks are too few; empty of one."""
    if summary.blocks == 1:
        return ""
    edges = f"{ratio(summary.low)} to {ratio(summary.high)}"
    if summary.interval:
        return f" (95\u00a0% interval {edges}, {plural(summary.blocks, 'block')})"
    return f" ({edges} in {plural(summary.blocks, 'block')})"


def listed(names: Sequence[str], most: int = 6) -> str:
    """`a, b and c`; beyond `most` the rest is counted."""
    if len(names) > most:
        return f"{', '.join(names[:most])} and {len(names) - most} more"
    return " and ".join([", ".join(names[:-1]), names[-1]] if len(names) > 1 else list(names))


def plural(count: int, word: str) -> str:
    """`1 block`, `3 blocks`."""
    return f"{count:,} {word}{'' if count == 1 else 's'}"


def size(count: float) -> str:
    """Bytes in the binary unit that suits."""
    for unit in ("bytes", "KiB", "MiB", "GiB"):
        if abs(count) < 1024:
            return f"{number(count)} {unit}"
        count /= 1024
    return f"{number(count)} TiB"


def heading(metric: Metric) -> tuple[str, str]:
    """A metric's title, and its unit with an arrow to the better side."""
    about = metric.definition
    return about.title, f"{about.unit} {ARROWS[about.better]}".strip()


def rows_unit(rows: int) -> tuple[float, str]:
    """By what to divide numbers of rows up to this one, and what they are then."""
    for divisor, word in ((1e6, "million rows"), (1e3, "thousand rows")):
        if rows >= 2 * divisor:
            return divisor, word
    return 1.0, "rows"
