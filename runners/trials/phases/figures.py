"""What both kinds of trials with phases share: the prediction after each phase, and the figures under their names."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Final

from keybench.databases.contract.engine import Engine
from keybench.errors import UsageError
from keybench.model.byteorder import sort_words
from keybench.model.definition import Theme
from keybench.model.keys import Keys
from keybench.model.metric import Metric
from keybench.model.reading import Reading
from keybench.model.subject import KEY, Subject, SubjectKind
from keybench.model.table import Table
from keybench.pagemodels.contract import KeepsState, delete
from keybench.pagemodels.page_stats import PageStats, readings
from keybench.pagemodels.ranking import ranked
from keybench.runners.trials.phases.steps import Step

NO_POSITION: Final = "Rows are deleted on the way: no insert has a position in the finished index."
SPLITS: Final = (Metric.APPENDS, Metric.EDGE_SPLITS, Metric.INTERIOR_SPLITS)
_PAGES: Final = (
    Metric.LEAF_PAGES,
    Metric.BRANCH_PAGES,
    Metric.LEAF_DENSITY,
    Metric.LEAF_FRAGMENTATION,
    Metric.LEAF_NONADJACENT,
)
_SUMS: Final = (Theme.SPLITS, Theme.STORAGE)


def measured(step: Step) -> Subject:
    """The index on the server, or in a model alone, after a phase."""
    return Subject(SubjectKind.PHASE, step.name)


def modelled(step: Step) -> Subject:
    """The index in the model beside a server after a phase."""
    return Subject(SubjectKind.MODEL_PHASE, step.name)


def predicted(on: Engine, table: Table, keys: Keys, steps: Sequence[Step], rows_per_tx: int) -> list[PageStats]:
    """The index after each step; `keys` are in planned order, and `rows_per_tx` are deleted at a time.

    UsageError if the engine's model knows no past.
    """
    model = on.page_model(table)
    if not isinstance(model, KeepsState):
        raise UsageError(
            f"the page model of {on.title} knows no index with a past yet: measure phases on a server, or leave "
            f"{on.name} out of --db."
        )
    ranks, state, after = ranked(sort_words(keys, table.column.order)), model.state(len(keys)), []
    for step in steps:
        if step.what == "insert":
            state.insert(ranks[step.rows])
        elif step.what == "delete":
            delete(state, ranks[step.rows], rows_per_tx)
        elif step.what == "clean":
            state.clean()
        else:
            state.rebuild(step.fill)
        after.append(state.stats())
    return after


def of_phases(steps: Sequence[Step], after: Sequence[PageStats], *, beside_server: bool) -> list[Reading]:
    """The model's figures of each phase. Splits are those of the phase."""
    listed, before = [], dict.fromkeys(SPLITS, 0.0)
    for step, stats in zip(steps, after, strict=True):
        subject = modelled(step) if beside_server else measured(step)
        own = {reading.metric: reading for reading in readings(stats, subject)}
        listed += [own[metric] for metric in _PAGES if metric in own]
        if step.what == "insert":
            listed += [replace(own[metric], value=(own[metric].value or 0) - before[metric]) for metric in SPLITS]
        before = {metric: own[metric].value or 0.0 for metric in SPLITS}
    return listed


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
            if not counted or step.what == "insert":
                listed[metric] = reading
            if counted and step.what == "insert" and reading.value is not None:
                sums[metric] = sums.get(metric, 0.0) + reading.value
    return [
        replace(reading, value=sums[metric]) if metric in sums and reading.value is not None else reading
        for metric, reading in listed.items()
    ]


def of_phase(step: Step, part: Iterable[Reading], seconds: float) -> list[Reading]:
    """The server's figures of one phase."""
    wanted = [*_PAGES, Metric.INDEX_BYTES, Metric.LOG_BYTES, *(SPLITS if step.what == "insert" else ())]
    own = {reading.metric: reading for reading in part if reading.subject == KEY}
    listed = [replace(own[metric], subject=measured(step)) for metric in wanted if metric in own]
    return [*listed, Reading(Metric.PHASE_SECONDS, seconds, "measured", "", measured(step))]
