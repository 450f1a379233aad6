"""What the keys of a column are: the layouts, how much of the column each one is, and since when."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from keybench.advice.inspection import parts
from keybench.advice.inspection.clocks import Clocks, Switch, clocks, order_of, switches
from keybench.advice.inspection.families import Family, Member, families
from keybench.advice.inspection.forms import readings
from keybench.advice.inspection.mixture import Component, components
from keybench.databases.contract.existing import Form, SampleHere
from keybench.generators.core.layout import Layout
from keybench.model.byteorder import sort_words
from keybench.model.keys import Order
from keybench.model.names import CONTROL


@dataclass(frozen=True, eq=False)
class Named:
    """Keys of one kind in a column."""

    layouts: tuple[str, ...]
    """Layouts that nothing in these keys tells apart, the likeliest first."""
    structureless: bool
    share: float
    """Of the rows, 0 to 1."""
    odds: float
    """Probability that it is one of these layouts and not the best other one, given that it is one of the two."""
    keys: int
    """Keys of it in the sample."""
    order: Order
    """The byte order in which the column has them."""
    spelled: str
    first: int | None
    """Tick of the earliest instant in the keys; None if they hold none that can be read."""
    last: int | None
    clocks: Clocks
    layout: Layout
    """The likeliest one."""


@dataclass(frozen=True, eq=False)
class Content:
    """All that a sample of a column's keys shows."""

    named: tuple[Named, ...]
    unknown: float
    """Share of the keys that fit no layout and look random."""
    sampled: int
    switches: tuple[Switch, ...]
    ascending: float | None
    """Rank correlation of the order of arrival (else of the keys' own time) with the order of the column, -1 to 1; of
    the latest layout's keys alone where it has taken over."""
    ascending_from: str = ""


def content(sample: SampleHere, form: Form, column: Order, now: int, rows: float | None = None) -> Content:
    """What the keys are; `column` is the order in which it sorts GUIDs, `rows` the table's rows if they are known."""
    n = len(sample.values)
    if not n:
        return Content((), 0.0, 0, (), None)
    reads = readings(sample, form)
    found = components(families(reads, n, now), n, sample.weights)
    named = tuple(_named(one, sample, rows) for one in found)
    shares = np.ones(n) if sample.weights is None else sample.weights
    taken = np.any([one.own for one in found], axis=0) if found else np.zeros(n, np.bool_)
    times = [(name, one.own, one.family.times) for name, one in zip(named, found, strict=True)]
    moments = tuple(switches([(name.layouts[0], own, when) for name, own, when in times], sample.arrival))
    latest = None
    if moments and moments[-1].clean:
        latest = next(own for name, own, _ in times if name.layouts[0] == moments[-1].after)
    unknown = float(shares[~taken].sum() / shares.sum())
    return Content(named, unknown, n, moments, *_ascending(found, sample, column, latest))


def _named(one: Component, sample: SampleHere, rows: float | None) -> Named:
    family = one.family
    where = np.flatnonzero(one.own)
    first = family.first.read.keys[_rows(family.first.read.rows, where[:1])]
    timed = np.logical_and.reduce([
        parts.timed(member.layout, first) for member in family.members if member.layout.kind != "text"
    ])  # fmt: skip
    scored = sorted(
        ((_score(member, where, family, timed, sample), member) for member in family.members),
        key=lambda pair: (-round(pair[0]), _rank(pair[1].layout)),
    )
    best = scored[0][0]
    alike = [member for score, member in scored if best - score < parts.ALIKE]
    behind = [best - score for score, _ in scored[len(alike) :]]
    margin = min([one.evidence, *behind])
    times = None if family.times is None else family.times[where]
    readable = times is not None and not alike[0].layout.description.counts_from_clock
    read = family.first.read
    return Named(
        layouts=tuple(member.layout.name for member in alike),
        structureless=alike[0].layout.description.structureless,
        share=one.share,
        odds=float(1 / (1 + 2.0 ** -min(max(margin, 0.0), 60.0))),
        keys=len(where),
        order=read.order,
        spelled=read.spelled,
        first=int(times.min()) if times is not None and readable else None,
        last=int(times.max()) if times is not None and readable else None,
        clocks=clocks(alike[0], _rows(read.rows, where), times, None if rows is None else rows * one.share),
        layout=alike[0].layout,
    )


def _rank(layout: Layout) -> tuple[bool, bool, int, str]:
    """Among equals, layouts without structure come first, then the control, then those with the shortest names, which
    standards have."""
    return (not layout.description.structureless, layout.name != CONTROL, len(layout.name), layout.name)


def _rows(known: NDArray[np.intp], where: NDArray[np.intp]) -> NDArray[np.intp]:
    """Rows of a reading, of values of the sample."""
    return np.searchsorted(known, where).astype(np.intp)


def _score(
    member: Member, where: NDArray[np.intp], family: Family, timed: NDArray[np.bool_], sample: SampleHere
) -> float:
    own = _rows(member.read.rows, where)
    times = None if family.times is None else family.times[where]
    made = times if sample.arrival is None else sample.arrival[where]
    total = parts.score(member, own, timed, None if made is None else made.astype(np.float64))
    if times is not None and sample.after_the_one_before is not None and sample.arrival is not None:
        by_arrival = np.argsort(sample.arrival[where], kind="stable")
        next_to = np.concatenate([[False], np.diff(where[by_arrival]) == 1])
        follows = sample.after_the_one_before[where[by_arrival]] & next_to
        coarse = times[by_arrival] // family.resolution
        total += parts.score_of_pairs(member, own[by_arrival], coarse, follows)
    return total


def _ascending(
    found: Sequence[Component], sample: SampleHere, column: Order, latest: NDArray[np.bool_] | None
) -> tuple[float | None, str]:
    """How far the keys ascend in the column, measured by the order of arrival or, without it, by the keys' time."""
    if not found:
        return None, ""
    read = found[0].family.first.read
    if len(found) > 1 and any(len(one.family.first.read.rows) != len(read.rows) for one in found):
        return None, ""
    known = sample.arrival
    how, rows = sample.arrival_from, read.rows
    if known is None and len(found) == 1 and found[0].family.first.layout.description.across == "always":
        return 1.0, "what the layout says"
    if known is None:
        times = found[0].family.times
        if times is None or len(found) > 1:
            return None, ""
        rows, known, how = np.flatnonzero(found[0].own), times.astype(np.float64), "the time in the keys"
    if latest is not None:
        rows = np.flatnonzero(latest)
    own = read.keys[_rows(read.rows, rows)]
    order = read.order if own.kind == "uuid" and read.order != "rfc" else column
    return order_of(sort_words(own, order if own.kind == "uuid" else "rfc"), known[rows]), how
