"""Numbers, lists, units and records as text."""

import csv
import io
import json
from collections.abc import Mapping, Sequence
from math import floor, isfinite, log10
from typing import Any, Final, TextIO

from keybench.model.definition import Direction
from keybench.model.metric import Metric
from keybench.results.analysis.arms import Arm

ARROWS: Final[dict[Direction, str]] = {"lower": "↓", "higher": "↑", "neither": ""}
BETTER: Final[dict[Direction, str]] = {"lower": "lower is better", "higher": "higher is better", "neither": ""}

_COUNT_WORDS: Final = ("no", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten")


def decimals(values: Sequence[float], digits: int = 3) -> int:
    """Number of decimals that gives the largest value `digits` significant digits: 0 for whole numbers, at most 6."""
    largest = max((abs(value) for value in values if isfinite(value)), default=0.0)
    if largest == 0 or all(value == round(value) for value in values):
        return 0
    return min(max(0, digits - 1 - floor(log10(largest))), 6)


def number(value: float, places: int | None = None) -> str:
    """A number as text with thousands separators; three significant digits, unless `places` gives the decimals."""
    return f"{value:,.{decimals([value]) if places is None else places}f}".replace("-", "−")  # a true minus sign


def ratio(value: float) -> str:
    """A ratio as text: 1.84×; the larger, the fewer decimals."""
    return f"{value:.2f}×" if value < 10 else f"{value:,.1f}×" if value < 100 else f"{value:,.0f}×"


def listed(names: Sequence[str], most: int = 6, last: str = "and") -> str:
    """The names as a list in a sentence: `a, b and c`; names beyond `most` are counted."""
    if len(names) > most:
        return f"{', '.join(names[:most])} and {len(names) - most} more"
    if len(names) < 2:
        return "".join(names)
    return f"{', '.join(names[:-1])} {last} {names[-1]}"


def plural(count: int, word: str) -> str:
    """A number with its word in the singular or plural: `1 block`, `3 blocks`."""
    return f"{count:,} {word}{'' if count == 1 else 's'}"


def count_word(count: int) -> str:
    """A number as a word, `six`; as digits above ten."""
    return _COUNT_WORDS[count] if count < len(_COUNT_WORDS) else f"{count:,}"


def size(count: float) -> str:
    """Bytes in a suitable binary unit."""
    for unit in ("bytes", "KiB", "MiB", "GiB"):
        if abs(count) < 1024:
            return f"{number(count)} {unit}"
        count /= 1024
    return f"{number(count)} TiB"


def heading(metric: Metric) -> tuple[str, str]:
    """(a metric's title, its unit with an arrow in the better direction)."""
    about = metric.definition
    return about.title, f"{about.unit} {ARROWS[about.better]}".strip()


def rows_unit(rows: int) -> tuple[float, str]:
    """(1e6, 1e3 or 1, by which numbers of rows up to `rows` become easy to read; the name of that unit)."""
    for divisor, word in ((1e6, "million rows"), (1e3, "thousand rows")):
        if rows >= 2 * divisor:  # so 1,500,000 rows are 1,500 thousand rows
            return divisor, word
    return 1.0, "rows"


def why_absent(arm: Arm, metric: Metric) -> str:
    """Why the arm has no value of the metric, as sentences."""
    if reasons := arm.reasons(metric):
        return " ".join(reasons)
    if arm.trials and not arm.good:
        return "Every trial failed; the errors are listed above."
    return "Nothing was recorded."


def json_text(content: object) -> str:
    """Plain values as JSON, with a final newline."""
    return json.dumps(content, indent=1, ensure_ascii=False) + "\n"


def csv_text(records: Sequence[Mapping[str, Any]], names: Sequence[str] = ()) -> str:
    """The text that `write_csv` writes."""
    out = io.StringIO()
    write_csv(out, records, names)
    return out.getvalue()


def write_csv(out: TextIO, records: Sequence[Mapping[str, Any]], names: Sequence[str] = ()) -> None:
    """Records with a header line; absent values are empty. `names` of columns are needed if there may be no record."""
    if header := names or (list(records[0]) if records else ()):
        table = csv.DictWriter(out, header, lineterminator="\n")
        table.writeheader()
        table.writerows(records)
