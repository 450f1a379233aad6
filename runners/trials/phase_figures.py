"""What both kinds of trials with phases share: the prediction after each phase, and the figures under their names."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Final

import numpy as np
from numpy.typing import NDArray

from keybench.databases.contract.engine import Engine
from keybench.errors import UsageError
from keybench.model.byteorder import sort_words
from keybench.model.definition import Theme
from keybench.model.keys import Keys
from keybench.model.metric import Metric
from keybench.model.reading import Origin, Reading
from keybench.model.subject import KEY, Subject, SubjectKind
from keybench.model.table import Table
from keybench.pagemodels.contract import delete, empty_index
from keybench.pagemodels.page_stats import PageStats, readings
from keybench.pagemodels.ranking import ranked
from keybench.runners.trials.phase_steps import Reach, Step

NO_POSITION: Final = "Rows are deleted on the way: no insert has a position in the finished index."
SPLITS: Final = (Metric.APPENDS, Metric.EDGE_SPLITS, Metric.INTERIOR_SPLITS)
_PAGES: Final = (
    Metric.LEAF_PAGES,
    Metric.BRANCH_PAGES,
    Metric.LEAF_DENSITY,
    Metric.LEAF_FRAGMENTATION,
    Metric.LEAF_NONADJACENT,
)
_COSTS: Final = (Metric.LOG_BYTES, Metric.LOG_PAGE_IMAGES, Metric.PAGES_READ, Metric.PAGES_WRITTEN)
_SUMS: Final = (Theme.SPLITS, Theme.STORAGE)


def measured(step: Step) -> Subject:
    """The index on the server, or in a model alone, after a phase."""
    return Subject(SubjectKind.PHASE, step.name)


def modelled(step: Step) -> Subject:
    """The index in the model beside a server after a phase."""
    return Subject(SubjectKind.MODEL_PHASE, step.name)


@dataclass(frozen=True, eq=False)
class After:
    """The index in the model after a phase."""

    stats: PageStats
    stranded: float | None
    rebuild_frees: float
    """Share of its pages, in %, that a rebuild as the engine does it by itself would free."""


def ranks_of(table: Table, keys: Keys) -> NDArray[np.int64]:
    """The ranks of keys in the server's order."""
    return ranked(sort_words(keys, table.column.order))


def predicted(
    on: Engine,
    table: Table,
    keys: Keys,
    steps: Sequence[Step],
    rows_per_tx: int,
    lengths: NDArray[np.int64] | None = None,
) -> list[After]:
    """The index after each step; `keys` are in planned order, and `rows_per_tx` are deleted at a time.

    `lengths`: characters of the rows' payloads, in planned order; None if all rows have the same. UsageError if the
    engine's model knows no past.
    """
    ranks = ranks_of(table, keys)
    empty = empty_index(on.page_model(table), ranks, keys, lengths)
    if empty is None:
        raise UsageError(
            f"the page model of {on.title} knows no index with a past yet: measure phases on a server, or leave "
            f"{on.name} out of --db."
        )
    state, reach = empty(), Reach(ranks)
    after: list[After] = []
    for step in steps:
        if step.what == "build":
            state.build(ranks[step.rows], step.fill)
        elif step.what == "insert":
            state.insert(ranks[step.rows])
        elif step.what == "delete":
            delete(state, ranks[step.rows], rows_per_tx)
        elif step.what == "clean":
            state.clean()
        elif step.what == "rebuild":
            state.rebuild(step.fill)
        reach.take(step)
        stats, fresh = state.stats(), empty()
        fresh.build(reach.present, on.default_fill)
        pages, needed = (one.leaf_pages + one.branch_pages for one in (stats, fresh.stats()))
        after.append(After(stats, reach.stranded(stats.page_rows, stats.density), 100 * (pages - needed) / pages))
    return after


def of_phases(steps: Sequence[Step], after: Sequence[After], *, beside_server: bool) -> list[Reading]:
    """The model's figures of each phase. Splits are those of the phase."""
    listed, before = [], dict.fromkeys(SPLITS, 0.0)
    for step, one in zip(steps, after, strict=True):
        subject = modelled(step) if beside_server else measured(step)
        own = {reading.metric: reading for reading in readings(one.stats, subject)}
        listed += [own[metric] for metric in _PAGES if metric in own]
        if step.what == "insert":  # a build splits nothing
            listed += [replace(own[metric], value=(own[metric].value or 0) - before[metric]) for metric in SPLITS]
        before = {metric: own[metric].value or 0.0 for metric in SPLITS}
        listed += [] if beside_server else _rows(step, "modelled")
        listed.append(Reading(Metric.REBUILD_FREES, one.rebuild_frees, "modelled", "", subject))
        if one.stranded is not None:
            listed.append(Reading(Metric.STRANDED, one.stranded, "modelled", "", subject))
    return listed


def _rows(step: Step, origin: Origin) -> list[Reading]:
    rows = float(len(step.rows))
    return [Reading(Metric.PHASE_ROWS, rows, origin, "", measured(step))] if rows else []


def of_whole(parts: Sequence[tuple[Step, Iterable[Reading]]]) -> list[Reading]:
    """The trial's readings of the key's index: as it is in the end, and counters over all phases that insert."""
    listed: dict[Metric, Reading] = {}
    sums: dict[Metric, float] = {}
    for step, part in parts:
        for reading in part:
            if reading.subject != KEY:
                continue
            metric, about = reading.metric, reading.metric.definition
            counted = about.theme in _SUMS and not about.of_index and metric != Metric.TABLE_BYTES
            adds = step.what == "insert" if about.theme == Theme.SPLITS else step.inserts  # a build splits nothing
            if not counted or adds:
                listed[metric] = reading
            if counted and adds and reading.value is not None:
                sums[metric] = sums.get(metric, 0.0) + reading.value
    return [
        replace(reading, value=sums[metric]) if metric in sums and reading.value is not None else reading
        for metric, reading in listed.items()
    ]


def of_phase(step: Step, part: Iterable[Reading], seconds: float, stranded: float | None) -> list[Reading]:
    """The server's figures of one phase."""
    wanted = [*_PAGES, Metric.INDEX_BYTES, *_COSTS, *(SPLITS if step.what == "insert" else ())]
    own = {reading.metric: reading for reading in part if reading.subject == KEY}
    listed = [replace(own[metric], subject=measured(step)) for metric in wanted if metric in own]
    listed += _rows(step, "measured")
    if stranded is not None:
        listed.append(Reading(Metric.STRANDED, stranded, "derived", "", measured(step)))
    return [*listed, Reading(Metric.PHASE_SECONDS, seconds, "measured", "", measured(step))]
