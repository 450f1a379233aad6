"""Checks of an adapter that no live server has confirmed. They compare a trial's readings with its page model's.

They answer what the documentation leaves open: whether rows are inserted in the order in which they are sent, whether a
server's counters add up, and where it splits a page. Engines add questions of their own.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from keybench.databases.contract.engine import Verdict
from keybench.model.metric import Metric
from keybench.model.reading import Reading
from keybench.model.subject import KEY, MODEL, Subject
from keybench.model.table import Table

ADDING_UP = 3
"""Pages by which counters may differ: it is not documented whether the first page and the root page are counted."""
_SORTED_POINTS = 8.0
_TELLING_SHARE = 0.02
NEAR = 0.05
"""Share by which leaf pages may differ where it is not documented how a page is split."""


def values(readings: Sequence[Reading], of: Subject = KEY) -> Mapping[Metric, float]:
    """The values of one subject."""
    of_subject = (reading for reading in readings if reading.subject == of)
    return {reading.metric: reading.value for reading in of_subject if reading.value is not None}


def order(readings: Sequence[Reading]) -> Iterator[Verdict]:
    """Whether rows went into the index in the order in which they were sent.

    If the server sorted them, the pages would be full. Keys for which the model splits pages show the difference.
    """
    real, model = values(readings), values(readings, MODEL)
    if Metric.LEAF_DENSITY not in real or Metric.LEAF_DENSITY not in model:
        return
    moved = model.get(Metric.INTERIOR_SPLITS, 0.0) + model.get(Metric.EDGE_SPLITS, 0.0)
    if moved < 0.2 * model[Metric.LEAF_PAGES] or model[Metric.LEAF_PAGES] < 50:
        return
    density, expected = real[Metric.LEAF_DENSITY], model[Metric.LEAF_DENSITY]
    evidence = f"leaf density {density:.1f} %, model {expected:.1f} %"
    yield Verdict(
        "rows are inserted in the order in which they are sent, not sorted",
        "holds" if density < expected + _SORTED_POINTS else "does not hold",
        evidence,
    )


def prediction(readings: Sequence[Reading], variants: Sequence[str]) -> Iterator[Verdict]:
    """Whether the page model predicts the number of leaf pages: exactly if all were appended, otherwise nearly."""
    real, model = values(readings), values(readings, MODEL)
    if Metric.LEAF_PAGES not in real or Metric.LEAF_PAGES not in model:
        return
    pages, expected = real[Metric.LEAF_PAGES], model[Metric.LEAF_PAGES]
    only_appends = model.get(Metric.APPENDS) == expected - 1
    near = pages == expected if only_appends else abs(pages - expected) <= max(2.0, NEAR * expected)
    yield Verdict(
        "the page model has its leaf pages" + (", all of them appended" if only_appends else ""),
        "holds" if near else "does not hold",
        f"{pages:,.0f} leaf pages, model {expected:,.0f}",
    )
    predicted = {name: values(readings, Subject.model(name)).get(Metric.LEAF_PAGES) for name in variants}
    known = {name: count for name, count in predicted.items() if count is not None}
    if len(known) > 1 and max(known.values()) - min(known.values()) > _TELLING_SHARE * max(known.values()):
        nearest = min(known, key=lambda name: abs(known[name] - pages))
        counts = ", ".join(f"{name} {count:,.0f}" for name, count in known.items())
        yield Verdict("what the model leaves open", "seen", f"{nearest}: {pages:,.0f} leaf pages; {counts}")


def adding_up(readings: Sequence[Reading], question: str) -> Iterator[Verdict]:
    """Whether the server's counter of leaf splits is the sum of appends and other splits."""
    real = values(readings)
    parts = real.get(Metric.APPENDS), real.get(Metric.EDGE_AND_INTERIOR_SPLITS), real.get(Metric.SPLIT_COUNTER)
    if None in parts:
        return
    appends, moved, counter = (part or 0.0 for part in parts)
    yield Verdict(
        question,
        "holds" if abs(counter - appends - moved) <= ADDING_UP and appends >= 0 else "does not hold",
        f"{counter:,.0f} = {appends:,.0f} + {moved:,.0f}"
        if counter == appends + moved
        else f"{counter:,.0f} against {appends:,.0f} + {moved:,.0f}",
    )


def ascending(table: Table, writers: int, readings: Sequence[Reading]) -> Iterator[Verdict]:
    """Whether the keys that the server makes ascend, judged by the splits that one writer's keys caused.

    The documentation does not say so for all of them: NEWSEQUENTIALID has an implementation of its own on Linux, and
    SYS_GUID ascends within a session on Linux.
    """
    moved = values(readings).get(Metric.EDGE_AND_INTERIOR_SPLITS)
    if table.server_keys is None or table.server_keys.order == "none" or moved is None or writers > 1:
        return
    outcome = f"{moved:,.0f} splits that move rows"
    yield Verdict(f"{table.server_keys.name} ascends", "holds" if moved == 0 else "does not hold", outcome)
