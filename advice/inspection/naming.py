"""What the keys of a column are: layouts, the share of each, and when one took over from another."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Final

import numpy as np
from numpy.typing import NDArray

from keybench.advice.inspection import parts
from keybench.advice.inspection.families import Floats, Member, families, readings
from keybench.advice.inspection.mixture import Component, components
from keybench.databases.contract.existing import Form, SampleHere
from keybench.generators.core.layout import Layout
from keybench.model.byteorder import sort_words
from keybench.model.keys import Order
from keybench.model.names import CONTROL

_CLEAR: Final = 0.05
"""Share of rows that may lie on the wrong side of a moment that still counts as a switch."""
_SIDE_BY_SIDE: Final = 0.45
"""Share of rows on the wrong side of the best moment, from which on two layouts are written side by side."""


@dataclass(frozen=True)
class Switch:
    """The moment at which one layout took over from another."""

    before: str
    after: str
    tick: int | None
    """None if neither's keys hold a time."""
    clean: bool
    """Whether (nearly) all keys before are the one's and all keys after are the other's; else both went on."""


@dataclass(frozen=True, eq=False)
class KeyGroup:
    """Keys of one kind in a column."""

    layouts: tuple[str, ...]
    """Layouts that nothing in these keys tells apart, the likeliest first."""
    layout: Layout
    """The likeliest one."""
    share: float
    """Of the rows, 0 to 1."""
    odds: float
    """Probability that it is one of these layouts and not the best other one, if it is one of the two."""
    keys: int
    """Keys of it in the sample."""
    order: Order
    """The byte order in which the column has them."""
    spelled: str
    """How the column writes them, if not as keys of its own kind."""
    first: int | None
    """Tick of the earliest instant in the keys; None if they hold none that can be read."""
    last: int | None


@dataclass(frozen=True, eq=False)
class Content:
    """All that a sample of a column's keys shows."""

    groups: tuple[KeyGroup, ...]
    unknown: float
    """Share of the keys that fit no layout and look random."""
    sampled: int
    switches: tuple[Switch, ...]
    ascending: float | None
    """Rank correlation of the order of arrival (else of the keys' own time) with the order of the column, -1 to 1; of
    the latest layout's keys alone where it has taken over."""
    ascending_from: str = ""


def content(sample: SampleHere, form: Form, column: Order, now: int) -> Content:
    """What the keys are; `column` is the order in which it sorts GUIDs, `now` the current tick."""
    n = len(sample.values)
    if not n:
        return Content(groups=(), unknown=0.0, sampled=0, switches=(), ascending=None)
    mixture = components(families(readings(sample, form), n, now), n, sample.weights)
    groups = tuple(_group(one, sample) for one in mixture)
    switches = tuple(_switches([(group.layouts[0], one) for group, one in zip(groups, mixture, strict=True)], sample))
    latest = None  # which values are keys of the layout that has taken over, if one has
    if switches and switches[-1].clean:
        latest = next(
            one.mask for group, one in zip(groups, mixture, strict=True) if group.layouts[0] == switches[-1].after
        )
    weights = np.ones(n) if sample.weights is None else sample.weights
    known = np.any([one.mask for one in mixture], axis=0) if mixture else np.zeros(n, np.bool_)
    unknown = float(weights[~known].sum() / weights.sum())
    return Content(groups, unknown, n, switches, *_ascending(mixture, sample, column, latest))


def _group(component: Component, sample: SampleHere) -> KeyGroup:
    """Names the layouts of one component of the mixture, with the odds and the times of its keys."""
    family = component.family
    where = np.flatnonzero(component.mask)  # the component's keys: indexes in the sample
    reading = family.first.reading
    # the bits that all members read their time from, found with one key
    first = reading.keys[_rows(reading.rows, where[:1])]
    timed = np.logical_and.reduce([
        parts.time_bits(member.layout, first) for member in family.members if member.layout.kind != "text"
    ])  # fmt: skip
    # the members by score; those about as good as the best are not told apart
    scores = sorted(
        ((_score(member, component, where, timed, sample), member) for member in family.members),
        key=lambda pair: (-round(pair[0]), _rank(pair[1].layout)),
    )
    best = scores[0][0]
    alike = [member for score, member in scores if best - score < parts.ALIKE]
    margin = min([component.evidence, *(best - score for score, _ in scores[len(alike) :])])
    counts = bool(alike[0].layout.description.counts_from_clock)  # a counter that began at the time is no time itself
    instants = None if counts or family.times is None else family.times[where]
    return KeyGroup(
        layouts=tuple(member.layout.name for member in alike),
        layout=alike[0].layout,
        share=component.share,
        odds=float(1 / (1 + 2.0 ** -min(max(margin, 0.0), 60.0))),
        keys=len(where),
        order=reading.order,
        spelled=reading.spelled,
        first=None if instants is None else int(instants.min()),
        last=None if instants is None else int(instants.max()),
    )


def _rank(layout: Layout) -> tuple[bool, bool, int, str]:
    """The order among layouts of equal score, the first the best: without structure, then the control, then those with
    the shortest names, which standards have."""
    return (not layout.description.structureless, layout.name != CONTROL, len(layout.name), layout.name)


def _rows(known: NDArray[np.intp], where: NDArray[np.intp]) -> NDArray[np.intp]:
    """The indexes in a reading of the values at `where` in the sample; `known`: the values that the reading has."""
    return np.searchsorted(known, where).astype(np.intp)


def _score(
    member: Member, component: Component, where: NDArray[np.intp], timed: NDArray[np.bool_], sample: SampleHere
) -> float:
    """Bits by which a layout explains the component's keys, which have the indexes `where` in the sample. `timed`: the
    bits that the time is read from."""
    family, rows = component.family, _rows(member.reading.rows, where)
    times = None if family.times is None else family.times[where]
    order = times if sample.arrival is None else sample.arrival[where]
    total = parts.score(member, rows, timed, None if order is None else order.astype(np.float64))
    if times is not None and sample.after_the_one_before is not None and sample.arrival is not None:
        # neighbours by arrival that are neighbours in the sample, too, arrived one right after the other
        by_arrival = np.argsort(sample.arrival[where], kind="stable")
        next_to = np.concatenate([[False], np.diff(where[by_arrival]) == 1])
        follows = sample.after_the_one_before[where[by_arrival]] & next_to
        coarse = times[by_arrival] // family.resolution
        total += parts.score_of_pairs(member, rows[by_arrival], coarse, follows)
    return total


def _switches(kinds: Sequence[tuple[str, Component]], sample: SampleHere) -> Iterator[Switch]:
    """The moments at which one layout took over from another. `kinds`: (layout, its component) of each in the column.
    Without an order of arrival, a layout with a time is taken to have followed one without a time."""

    def middle(kind: tuple[str, Component]) -> float:
        """When a layout's keys came, as median of their arrival or their time; -∞ if nobody knows."""
        mask, times = kind[1].mask, kind[1].family.times
        if sample.arrival is not None:
            return float(np.median(sample.arrival[mask]))
        return float(np.median(times[mask])) if times is not None else float("-inf")

    for (before, old), (after, new) in pairwise(sorted(kinds, key=middle)):
        old_times, new_times = old.family.times, new.family.times
        # whether it is clean, and which new keys came since
        since = new.mask
        if sample.arrival is not None:  # by the best cut through the order of arrival
            wrong, cut = _best_cut(sample.arrival[old.mask], sample.arrival[new.mask])
            if wrong > _SIDE_BY_SIDE:
                yield Switch(before, after, tick=None, clean=False)
                continue
            clean = wrong <= _CLEAR
            behind = new.mask & (sample.arrival >= cut)
            if clean and behind.any():
                since = behind
        else:  # by the times in the keys: nearly all old ones lie before nearly all new ones
            clean = (
                old_times is not None
                and new_times is not None
                and (float(np.quantile(old_times[old.mask], 0.99)) <= float(np.quantile(new_times[new.mask], 0.01)))
            )
        # when: the time of the earliest of them, else of the latest old key
        tick: int | None = None
        if new_times is not None:
            tick = int(new_times[since].min())
        elif old_times is not None:
            tick = int(old_times[old.mask].max())
        yield Switch(before, after, tick, clean)


def _best_cut(old: Floats, new: Floats) -> tuple[float, float]:
    """(the least share of the keys on the wrong side of any moment of arrival, that moment). `old`, `new`: arrivals."""
    at = np.concatenate([old, new])
    order = np.argsort(at, kind="stable")
    is_new = np.concatenate([np.zeros(len(old)), np.ones(len(new))])[order]
    new_before = np.concatenate([[0], np.cumsum(is_new)])
    old_after = len(old) - np.concatenate([[0], np.cumsum(1 - is_new)])
    # for each cut: the new keys before it and the old ones after it, as shares that weigh alike
    wrong = new_before / max(1, len(new)) + old_after / max(1, len(old))
    best = int(np.argmin(wrong))
    return float(wrong[best] / 2), float(at[order][min(best, len(at) - 1)])


def _ascending(
    mixture: Sequence[Component], sample: SampleHere, column: Order, latest: NDArray[np.bool_] | None
) -> tuple[float | None, str]:
    """(how far the keys ascend in the column, -1 to 1: their rank correlation with the order of arrival; what shows
    that order). (None, "") if nobody knows. `column`: how it compares keys. `latest`: a mask of the keys to look at."""
    if not mixture:
        return None, ""
    family = mixture[0].family
    reading = family.first.reading
    if any(len(one.family.first.reading.rows) != len(reading.rows) for one in mixture):
        return None, ""  # values of several widths have no common order
    # the order of arrival, by the server's rows, else by the time in keys of a single layout; `rows` of the sample
    arrival, source, rows = sample.arrival, sample.arrival_from, reading.rows
    if arrival is None:
        if len(mixture) > 1:
            return None, ""
        if family.first.layout.description.across == "always":
            return 1.0, "what the layout says"
        if family.times is None:
            return None, ""
        arrival, source, rows = family.times.astype(np.float64), "the time in the keys", np.flatnonzero(mixture[0].mask)
    if latest is not None:
        rows = np.flatnonzero(latest)
    # the order of the keys in the column
    keys = reading.keys[_rows(reading.rows, rows)]
    order: Order = "rfc"
    if keys.kind == "uuid":
        order = reading.order if reading.order != "rfc" else column
    return _rank_correlation(sort_words(keys, order), arrival[rows]), source


def _rank_correlation(words: NDArray[np.uint64], arrival: Floats) -> float:
    """Spearman's rank correlation of the order by `words`, uint64 (n, words), with the order of arrival; 1 below 3."""
    n = len(arrival)
    if n < 3:
        return 1.0
    by_key, by_arrival = np.empty(n), np.empty(n)
    by_key[np.lexsort(words.T[::-1])] = np.arange(n)
    by_arrival[np.argsort(arrival, kind="stable")] = np.arange(n)
    return float(np.corrcoef(by_key, by_arrival)[0, 1])
