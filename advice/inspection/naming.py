"""What the keys of a column are: layouts, the share of each, and when one took over from another."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Final

import numpy as np
from numpy.typing import NDArray

from keybench.advice.inspection import parts
from keybench.advice.inspection.families import Family, Floats, KeyReading, Member, families, readings
from keybench.advice.inspection.mixture import Component, components
from keybench.databases.contract.existing import Form, SampleHere
from keybench.generators.commands.odds import latest
from keybench.generators.core.clock import TICKS_PER_DAY
from keybench.generators.core.layout import Layout
from keybench.model.keys import Order
from keybench.model.names import CONTROL

_FUTURE: Final = 50 * 365 * TICKS_PER_DAY  # how far ahead a key's time may be
_CLEAR: Final = 0.05  # share of rows that may lie on the wrong side of a moment that still counts as a switch
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
    ahead: float = 0.0
    """Share of the rows whose keys of this kind hold times after tomorrow, 0 to 1."""


@dataclass(frozen=True, eq=False)
class Content:
    """All that a sample of a column's keys shows."""

    groups: tuple[KeyGroup, ...]
    unknown: float
    """Share of the keys that fit no layout and look random."""
    sampled: int
    switches: tuple[Switch, ...] = ()
    repeats: bool = False
    """Whether a value has two rows of the sample or more, on average."""
    latest: NDArray[np.bool_] | None = None
    """Which of the n keys of the sample are of the layout that has taken over from another, if one has: bool (n,)."""
    instants: Floats | None = None
    """The times in the keys, as ticks: (n,), NaN for those of no layout. None if they have several layouts or none."""
    always: bool = False
    """Whether the keys ascend by what their only layout says."""

    @property
    def newest(self) -> KeyGroup | None:
        """The keys that new rows probably get: of the layout that has taken over, else of the most frequent one."""
        after = self.switches[-1].after if self.switches and self.switches[-1].clean else ""
        return next((one for one in self.groups if one.layouts[0] == after), self.groups[0] if self.groups else None)


def content(sample: SampleHere, form: Form, now: int) -> Content:
    """What the keys of the sample's first column are; `now`: the current tick."""
    n = len(sample.values)
    if not n:
        return Content(groups=(), unknown=0.0, sampled=0)
    repeats = 2 * len(set(np.asarray(sample.values).tolist() if form == "int" else sample.values)) <= n
    if form == "number":
        return Content(groups=(), unknown=1.0, sampled=n, repeats=repeats)
    mixture = _mixture(sample, form, now)
    named = [(_group(component, sample, now), component) for component in mixture]
    groups = _merged([group for group, _ in named])
    weights = np.ones(n) if sample.weights is None else sample.weights
    unknown = float(weights[~_keys_of(mixture, n)].sum() / weights.sum())
    # keys dated ahead are no switch to another layout
    not_ahead = [(group.layouts[0], component) for group, component in named if not group.ahead]
    switches = tuple(_switches(not_ahead, sample))
    result = Content(groups, unknown, n, switches, repeats)
    name = result.newest.layouts[0] if result.newest else ""
    newest = [component for group, component in named if group.layouts[0] == name]
    times = [(one.mask, one.family.times) for one in newest if one.family.times is not None]
    if len(times) == len(mixture):  # all known keys are of the newest layout, and hold times
        instants = np.full(n, np.nan)
        for mask, ticks in times:
            instants[mask] = ticks[mask]
        result = replace(result, instants=instants)
    if switches and switches[-1].clean:
        result = replace(result, latest=_keys_of(newest, n))
    return replace(result, always=len(mixture) == 1 and mixture[0].family.first.layout.description.across == "always")


def _mixture(sample: SampleHere, form: Form, now: int) -> list[Component]:
    """The families that the keys are of. Where these are several or leave keys out, also families of keys that a clock
    dated ahead: of the layouts of most keys; of any layout, if most keys are random or no layout has most."""
    n, ways = len(sample.values), readings(sample, form)
    in_time = families(ways, n, now)
    mixture = components(in_time, n, sample.weights)
    if len(mixture) == 1 and mixture[0].mask.all():
        return mixture
    most = next((one for one in mixture if one.share > 0.5), None)
    of_any = most is None or _group(most, sample, now).layout.description.structureless
    usual = {member.layout.name for member in most.family.members} if most else set()
    ahead = [one for one in _dated_ahead(ways, n, now) if of_any or one.first.layout.name in usual]
    return components([*in_time, *ahead], n, sample.weights) if ahead else mixture


def _keys_of(mixture: Sequence[Component], n: int) -> NDArray[np.bool_]:
    """Which of n values are keys of these components: bool (n,)."""
    return np.array(np.any([np.zeros(n, np.bool_), *(one.mask for one in mixture)], axis=0))


def _dated_ahead(ways: Sequence[KeyReading], n: int, now: int) -> Iterator[Family]:
    """The families of keys with times after tomorrow; other keys do not fit them."""
    for family in families(ways, n, now + _FUTURE):
        if family.times is not None:
            fits = family.fits & (family.times > latest(now))
            yield replace(family, fits=fits, bits=np.where(fits, family.bits, -np.inf))


def _merged(groups: Sequence[KeyGroup]) -> tuple[KeyGroup, ...]:
    """The groups; those that are dated ahead are part of the group of the same layout, if there is one."""
    merged = [one for one in groups if not one.ahead]
    for ahead in (one for one in groups if one.ahead):
        same = next((one for one in merged if set(ahead.layouts) & set(one.layouts)), None)
        if same is None:
            merged.append(ahead)
            continue
        merged[merged.index(same)] = replace(
            same, share=same.share + ahead.share, keys=same.keys + ahead.keys, last=ahead.last, ahead=ahead.share
        )
    return tuple(merged)


def _group(component: Component, sample: SampleHere, now: int) -> KeyGroup:
    """Names the layouts of one component of the mixture, with the odds and the times of its keys."""
    family = component.family
    where = np.flatnonzero(component.mask)  # the component's keys: indexes in the sample
    reading = family.first.reading
    # the bits that all members read their time from, found with one key
    one_key = reading.keys[_places_in(reading, where[:1])]
    timed = np.logical_and.reduce([
        parts.time_bits(member.layout, one_key) for member in family.members if member.layout.kind != "text"
    ])  # fmt: skip
    # the members by score (`_rank` decides within a bit); those about as good as the best are not told apart
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
        odds=float(1 / (1 + 2.0 ** -min(max(margin, 0.0), 60.0))),  # 60 bits: more change no float
        keys=len(where),
        order=reading.order,
        spelled=reading.spelled,
        first=None if instants is None else int(instants.min()),
        last=None if instants is None else int(instants.max()),
        ahead=component.share if instants is not None and instants.min() > latest(now) else 0.0,
    )


def _rank(layout: Layout) -> tuple[bool, bool, int, str]:
    """The order among layouts of equal score, the first the best: without structure, then the control, then those with
    the shortest names, which standards have."""
    return (not layout.description.structureless, layout.name != CONTROL, len(layout.name), layout.name)


def _places_in(reading: KeyReading, where: NDArray[np.intp]) -> NDArray[np.intp]:
    """The places, among the keys of a reading, of the values that have the indexes `where` in the sample."""
    return np.searchsorted(reading.rows, where).astype(np.intp)  # `rows` ascend


def _score(
    member: Member, component: Component, where: NDArray[np.intp], timed: NDArray[np.bool_], sample: SampleHere
) -> float:
    """Bits by which a layout explains the component's keys, which have the indexes `where` in the sample. `timed`: the
    bits that the time is read from."""
    family, rows = component.family, _places_in(member.reading, where)
    times = None if family.times is None else family.times[where]
    order = times if sample.arrival is None else sample.arrival[where]
    total = parts.score(member, rows, timed, None if order is None else order.astype(np.float64))
    if times is not None and sample.after_the_one_before is not None and sample.arrival is not None:
        # neighbours by arrival that are neighbours in the sample, too, arrived one right after the other
        by_arrival = np.argsort(sample.arrival[where], kind="stable")
        next_to = np.concatenate([[False], np.diff(where[by_arrival]) == 1])
        follows = sample.after_the_one_before[where[by_arrival]] & next_to
        coarse = times[by_arrival] // family.resolution  # keys that differ here ascend by all layouts of the family
        total += parts.score_of_pairs(member, rows[by_arrival], coarse, follows)
    return total


def _switches(kinds: Sequence[tuple[str, Component]], sample: SampleHere) -> Iterator[Switch]:
    """The moments at which one layout took over from another. `kinds`: (layout, its component) of each in the column.
    Without an order of arrival, a layout with a time is taken to have followed one without a time."""

    def middle(kind: tuple[str, Component]) -> float:
        """When a layout's keys came: the median of their arrival, else of their times; -∞ if they hold none."""
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
            after_cut = new.mask & (sample.arrival >= cut)
            if clean and after_cut.any():
                since = after_cut
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
    """(the least share of the keys on the wrong side of any moment, that moment). `old`, `new`: when they arrived."""
    arrivals = np.concatenate([old, new])
    order = np.argsort(arrivals, kind="stable")
    is_new = np.concatenate([np.zeros(len(old)), np.ones(len(new))])[order]
    new_before = np.concatenate([[0], np.cumsum(is_new)])
    old_after = len(old) - np.concatenate([[0], np.cumsum(1 - is_new)])
    # for each cut, before arrival i or after the last: the wrong keys' share of the new ones, plus that of the old
    wrong = new_before / max(1, len(new)) + old_after / max(1, len(old))
    best = int(np.argmin(wrong))
    return float(wrong[best] / 2), float(arrivals[order][min(best, len(arrivals) - 1)])  # / 2: the mean share
