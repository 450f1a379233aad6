"""Clauses of a headline that answer what people ask: what random UUIDs cost beside the best key of the same width, and
where the keys of writers go that fall behind.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from keybench.model.metric import Metric
from keybench.model.names import CONTROL, RANDOM
from keybench.model.subject import Subject
from keybench.results.analysis.arms import Arm
from keybench.results.analysis.group_comparison import time_metric
from keybench.results.analysis.groups import Group, splits_inside, writers_of
from keybench.results.analysis.ratios import Summary, summarise
from keybench.results.wording import listed, number

BEST_KNOWN: Final = "uuid-v7"
_NAMES: Final = {BEST_KNOWN: "UUIDv7"}
_FEW: Final = 0.25
"""UUIDv7 is compared with where it splits at most this share of the pages that random UUIDs split."""
_LAGS: Final = 1.0
"""Seconds of the scenario's time from which on a key is late; writers that send at the same moment are less apart."""
_ALWAYS: Final = 90.0
"""% of a writer's keys below others: a layout is called random if every writer has at least this share."""


def times(value: float) -> str:
    """A ratio in a sentence: `1.70 ×`."""
    return f"{number(value, 2 if value < 10 else 1 if value < 100 else 0)}\u00a0×"


def more_pages(ratio: float) -> str:
    """A ratio of page counts in words: `40 % more pages`."""
    percent = round(100 * (ratio - 1))
    if percent == 0:
        return "as many pages"
    return f"{abs(percent):,}\u00a0% {'more' if percent > 0 else 'fewer'} pages"


@dataclass(frozen=True)
class RandomBesideBest:
    """Random UUIDs, and the best key in the same column, which is as wide."""

    best: str
    """Its name in a sentence."""
    pages: float
    """Leaf pages of random UUIDs over the best key's."""
    time: Summary | None
    """The same of insert times; None unless six blocks or more decide that they differ."""

    @property
    def clause(self) -> str:
        """What random UUIDs need, as a clause without its subject."""
        longer = f" and {times(self.time.median)} the time" if self.time else ""
        than = "as" if round(100 * (self.pages - 1)) == 0 else "than"
        return f"need {more_pages(self.pages)} {than} {self.best}{longer}"


def random_beside_best(group: Group) -> RandomBesideBest | None:
    """Random UUIDs compared with UUIDv7 or, unless UUIDv7 splits few pages, with the best key in the same column. None
    without random UUIDs, or where no key in their column does better."""
    random = next((arm for arm in group.treatments if arm.layout == RANDOM and arm.good), None)
    if random is None or (random_cost := _cost(group, random)) is None:
        return None
    same_column = [arm for arm in group.treatments if arm.column == random.column]
    costs = {arm: one for arm in same_column if (one := _cost(group, arm)) is not None}
    best_known = [arm for arm in costs if arm.layout == BEST_KNOWN and costs[arm] <= _FEW * random_cost]
    best = best_known[0] if best_known else min(costs, key=lambda arm: costs[arm])
    pages = group.ratio_between(random, best, Metric.LEAF_PAGES)
    if costs[best] > 0.9 * random_cost or pages is None:  # hardly better
        return None
    time = group.ratio_between(random, best, time_metric(group))
    decided = time is not None and time.interval and not time.low <= 1 <= time.high
    return RandomBesideBest(_NAMES.get(best.layout, f"`{best.layout}`"), pages.median, time if decided else None)


def _cost(group: Group, arm: Arm) -> float | None:
    """The splits inside the index or, where nobody knows them, its pages."""
    splits = summarise(splits_inside(group, arm)[0].values()) or arm.summary(Metric.LEAF_PAGES)
    return splits.median if splits else None


def lag_clauses(group: Group) -> list[str]:
    """Clauses on where the keys of writers go: of the layout that lags most, of those that do not lag, of random ones.
    Empty if none but random layouts lag, or with one writer."""
    lags = {  # (seconds, rows) behind the newest key
        arm: (behind.median, rows.median)
        for arm in group.treatments
        if (behind := arm.summary(Metric.LAG_SECONDS_P50)) and (rows := arm.summary(Metric.LAG_ROWS_P50))
    }
    random = [arm for arm in lags if _is_random(group, arm)]
    late = [arm for arm, (behind, _) in lags.items() if behind >= _LAGS and arm not in random]
    if not late or group.writers < 2:
        return []
    worst = max(late, key=lambda arm: lags[arm][1])  # in rows
    seconds, distance = lags[worst]
    splits = summarise(splits_inside(group, worst)[0].values())
    and_split = f" and split {number(splits.median, 1)} pages inside the index for each 1,000 rows" if splits else ""
    clauses = [
        f"`{worst.layout}` keys of writers that fall behind go {number(distance, 0)} rows, or {_duration(seconds)}, "
        f"behind the newest{and_split}"
    ]
    if others := [arm for arm in lags if arm not in (*late, *random)]:
        clauses.append(f"those of {_quoted(others)} go to the end of the index")
    if random:
        clauses.append(f"those of {_quoted(random)} go anywhere")
    return clauses


def _is_random(group: Group, arm: Arm) -> bool:
    """Whether nearly all keys of every writer have others above them."""
    shares = [arm.summary(Metric.LAGGING_INSERTS, Subject.writer(name)) for name in writers_of(group)]
    return bool(shares) and all(share and share.median >= _ALWAYS for share in shares)


def _quoted(arms: Sequence[Arm]) -> str:
    return listed([f"`{arm.layout}`" for arm in arms if arm.layout != CONTROL], 3)


def _duration(seconds: float) -> str:
    """Seconds of the scenario in the largest unit of which they are two or more, else in seconds."""
    value, unit = next((seconds / size, name) for size, name in _UNITS if seconds >= 2 * size or size == 1)
    return f"{number(value, 0)} {unit}"


_UNITS: Final = ((3600, "hours"), (60, "minutes"), (1, "seconds"))
