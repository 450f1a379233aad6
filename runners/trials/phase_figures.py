"""The steps of a trial with phases, the prediction after each one, and the figures under their names."""

from collections.abc import Iterable, Iterator, Sequence
from copy import deepcopy
from dataclasses import dataclass, replace
from typing import Final

import numpy as np
from numpy.typing import NDArray

from keybench.databases.contract.engine import Engine
from keybench.databases.registry import engine
from keybench.errors import UsageError
from keybench.model.definition import Theme
from keybench.model.metric import KINDS_OF_SPLITS as SPLITS
from keybench.model.metric import Metric
from keybench.model.payload import Payload
from keybench.model.reading import Origin, Reading
from keybench.model.subject import KEY, Subject, SubjectKind
from keybench.pagemodels.contract import KnowsUpdates, delete, empty_index
from keybench.pagemodels.page_stats import PageStats, readings
from keybench.runners.planning.trial_plan import Request, TrialPlan
from keybench.runners.planning.trial_tables import TrialTable
from keybench.runners.trials.load_cost import cost_with_restart
from keybench.scenarios.index_phases import DeletePart, ReadPart, UpdatePart, What, count_of, expanded, rows_by_phase

Integers = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Step:
    """One phase."""

    number: int
    """From 1."""
    what: What
    rows: NDArray[np.int64]
    """The rows that are inserted, deleted, updated or read, in that order: places in planned order, from 0."""
    fill: int = 0
    """In %, of a build or rebuild."""
    update: UpdatePart | None = None
    """How rows are updated, if they are."""
    read: ReadPart | None = None
    """How rows are read, if they are."""

    @property
    def inserts(self) -> bool:
        """Whether rows are inserted."""
        return self.what in ("build", "insert")

    @property
    def deletes(self) -> bool:
        """Whether rows are deleted, perhaps after they were read."""
        return self.what == "delete" or bool(self.read and self.read.pop)

    @property
    def splits(self) -> bool:
        """Whether pages may split: a build splits none."""
        return self.what in ("insert", "update")

    @property
    def name(self) -> str:
        """As it is recorded: `3 delete`."""
        return f"{self.number} {self.what}"

    @property
    def subject(self) -> Subject:
        """The index after this phase: on the server, or in a model alone."""
        return Subject(SubjectKind.PHASE, self.name)


def steps(request: Request, plan: TrialPlan, ranks: Integers | None = None) -> tuple[Step, ...]:
    """The steps of a trial; empty for a scenario without phases. Every layout of a block has the same rows in them, but
    for phases that read in the order of the key: only these need the keys' `ranks`, in planned order."""
    random = np.random.Generator(np.random.PCG64((request.seed, plan.block, 2)))  # 2: numbers that nothing else uses
    phases = request.scenario.phase
    present = np.empty(0, np.int64)  # the rows that are there, by age
    gone = np.empty(0, np.int64)  # those that were deleted
    listed, inserted = [], 0
    ends = rows_by_phase(phases, plan.rows)  # how many rows have been inserted by the end of each phase
    for number, (phase, end) in enumerate(zip(expanded(phases), ends, strict=True), start=1):
        rows = np.arange(inserted, end, dtype=np.int64)  # the phase's own; none if it deletes, updates or reads
        present, inserted = np.append(present, rows), end
        if phase.delete:
            places = _places_to_delete(phase.delete, len(present), random)
            rows, present = present[places], np.delete(present, places)
            gone = np.append(gone, rows)
        elif phase.update:
            rows = present[_places_to_update(phase.update, len(present), random)]
        elif phase.read and (phase.read.present or phase.read.deleted):
            candidates = present if phase.read.present else gone
            rows = random.permutation(candidates)[: count_of(phase.read.amount, len(candidates))]
        elif phase.read:  # scan or pop: the first rows in the order of the key
            assert ranks is not None
            rows = present[np.argsort(ranks[present])][: count_of(phase.read.amount, len(present))]
            if phase.read.pop:  # deletes what it reads; the sorted rest is still by age
                present, gone = np.setdiff1d(present, rows), np.append(gone, rows)
        built = phase.build or phase.rebuild
        fill = (built.fill or engine(plan.database).default_fill) if built else 0
        listed.append(Step(number=number, what=phase.what, rows=rows, fill=fill, update=phase.update, read=phase.read))
    return tuple(listed)


def rows_left(done: tuple[Step, ...]) -> NDArray[np.int64]:
    """The rows that are there after these steps, in planned order."""
    inserted = [step.rows for step in done if step.inserts]
    deleted = [step.rows for step in done if step.deletes]
    no_rows = [np.empty(0, np.int64)]  # np.concatenate needs one array at least
    rows: NDArray[np.int64] = np.setdiff1d(np.concatenate(inserted + no_rows), np.concatenate(deleted + no_rows))
    return rows


def _places_to_delete(part: DeletePart, rows: int, random: np.random.Generator) -> NDArray[np.int64]:
    """Which of `rows` rows are deleted: their places by age, from 0, ascending. They are the oldest ones, or random
    ones, or all but every nth row."""
    if part.all_but_each:
        return np.flatnonzero(np.arange(rows) % part.all_but_each).astype(np.int64)
    count = part.count(rows)
    return np.arange(count) if part.oldest else np.sort(random.permutation(rows)[:count])


def _places_to_update(part: UpdatePart, rows: int, random: np.random.Generator) -> NDArray[np.int64]:
    """Which of `rows` rows are updated, in this order: their places by age, from 0."""
    count = count_of(part.rows, rows)
    if part.which == "hot":
        hundredth = random.permutation(rows)[: -(-rows // 100)]  # -(-n // 100): rounded up
        return np.resize(hundredth, count)  # each of these rows in turn, then all of them again
    if part.which == "random":
        return random.permutation(rows)[:count]
    return np.arange(count) if part.which == "oldest" else np.arange(rows - count, rows)


class PresentKeys:
    """Which keys an index has after each step, and which of them came last. `ranks`: of all keys, in planned order."""

    def __init__(self, ranks: Integers) -> None:
        self._ranks = ranks
        self._there = np.zeros(len(ranks), np.bool_)
        self._newest = np.empty(0, np.int64)

    @property
    def present(self) -> Integers:
        """The ranks of the keys that are there, ascending."""
        return np.flatnonzero(self._there)

    def take(self, step: Step) -> None:
        """Notes the keys that a step, which has been done, inserted or deleted."""
        if step.inserts:
            self._newest = self._ranks[step.rows]
        if step.inserts or step.deletes:
            self._there[self._ranks[step.rows]] = step.inserts  # else it deletes: they are there no more

    def stranded(self, page_rows: Integers, density: float) -> float | None:
        """The room that is free on leaves where no row of the last insertion lies, in % of the room of all leaves.

        `page_rows`: entries on each leaf in key order, (leaves,); `density`: of the leaves, in %. None where nobody
        knows which rows lie where, because entries of deleted rows are among them. In a tree whose branch pages hold
        rows (SQLite), one row lies between two neighbouring leaves.
        """
        present, leaves, entries = self.present, len(page_rows), int(page_rows.sum())
        on_branches = len(present) - entries  # rows on branch pages: none, or one between any two leaves
        if on_branches not in (0, leaves - 1) or not entries:
            return None
        # the leaves that hold a row of the last insertion; a row between two leaves counts as on the left one
        ends = np.cumsum(page_rows + (1 if on_branches else 0))
        places = np.searchsorted(present, self._newest[self._there[self._newest]])
        has_newest = np.zeros(leaves, np.bool_)
        has_newest[np.searchsorted(ends, places, side="right")] = True
        # free room of each leaf in %: entries are equally large, so each takes density · leaves / entries
        free = 100 - page_rows * (density * leaves / entries)
        return float(np.maximum(free, 0)[~has_newest].sum() / leaves)


NO_POSITION: Final = "Rows are deleted on the way: no insert has a position in the finished index."
_PAGES: Final = (
    Metric.LEAF_PAGES, Metric.BRANCH_PAGES, Metric.LEAF_DENSITY, Metric.LEAF_FRAGMENTATION, Metric.LEAF_NONADJACENT,
)  # fmt: skip
_COSTS: Final = (Metric.LOG_BYTES, Metric.LOG_PAGE_IMAGES, Metric.PAGES_READ, Metric.PAGES_WRITTEN)
_SUMS: Final = (Theme.SPLITS, Theme.STORAGE)
"""Themes whose metrics are added up over the phases."""


@dataclass(frozen=True, eq=False)
class After:
    """The index in the model after a phase."""

    stats: PageStats
    stranded: float | None
    rebuild_frees: float
    """Share of its pages, in %, that a rebuild as the engine does it by itself would free."""


def predicted(
    on: Engine, request: Request, trial_table: TrialTable, all_steps: Sequence[Step], *, beside_server: bool
) -> tuple[PageStats, list[Reading], UsageError | None]:
    """(the index in the model after the last step that the model knows, its figures of each phase until then, why it
    does not know the next step, or None). Raises the reason if there is no server, or if it is about the first step."""
    after: list[After] = []
    refused: UsageError | None = None
    try:
        for index in _after_steps(on, trial_table, all_steps, request.scenario.load.rows_per_tx):
            after.append(index)  # noqa: PERF402  # those before a refusal stay
    except UsageError as error:
        if not (after and beside_server):
            raise
        refused = error
    kind = SubjectKind.MODEL_PHASE if beside_server else SubjectKind.PHASE
    listed = _of_phases(all_steps[: len(after)], after, kind)
    if not refused:
        listed += _reads_after_restart(on, request, trial_table, all_steps, kind)
    return after[-1].stats, listed, refused


def _after_steps(on: Engine, trial_table: TrialTable, all_steps: Sequence[Step], rows_per_tx: int) -> Iterator[After]:
    """The index in the model after each step. A transaction deletes or updates `rows_per_tx` rows, unless its step has
    its own number. UsageError at a step that the model does not know."""
    ranks = trial_table.ranks
    empty = empty_index(on.page_model(trial_table.table), ranks, trial_table.keys, trial_table.lengths())
    if empty is None:
        raise UsageError(
            f"the page model of {on.title} knows no index with a past yet: measure phases on a server, or leave "
            f"{on.name} out of --db."
        )
    state, present_keys = empty(), PresentKeys(ranks)
    if trial_table.table.status and not isinstance(state, KnowsUpdates):
        raise _knows_no_updates(on)
    for step in all_steps:
        if step.what == "build":
            state.build(ranks[step.rows], step.fill)
        elif step.what == "insert":
            state.insert(ranks[step.rows])
        elif step.what == "update":
            assert step.update
            if not isinstance(state, KnowsUpdates):
                raise _knows_no_updates(on)
            characters = new_lengths(step.update, trial_table, step) if step.update.column == "payload" else None
            state.update(ranks[step.rows], step.update.rows_per_tx or rows_per_tx, characters)
        elif step.what == "delete":
            delete(state, ranks[step.rows], rows_per_tx)
        elif step.what == "read":
            if isinstance(state, KnowsUpdates):
                state.read(ranks[step.rows], by_key=bool(step.read and (step.read.present or step.read.deleted)))
            if step.deletes:
                delete(state, ranks[step.rows], len(step.rows))  # in one transaction
        elif step.what == "clean":
            state.clean()
        elif step.what == "rebuild":
            state.rebuild(step.fill)
        present_keys.take(step)
        stats, rebuilt = state.stats(), deepcopy(state)  # a copy, as the index itself goes on without a rebuild
        rebuilt.rebuild(on.default_fill)
        pages, rebuilt_pages = (each.leaf_pages + each.branch_pages for each in (stats, rebuilt.stats()))
        frees = 100 * (pages - rebuilt_pages) / pages
        yield After(stats, present_keys.stranded(stats.page_rows, stats.density), frees)


def _knows_no_updates(on: Engine) -> UsageError:
    return UsageError(f"the page model of {on.title} knows no updates yet: such phases are measured alone.")


def _of_phases(done: Sequence[Step], after: Sequence[After], kind: SubjectKind) -> list[Reading]:
    """The model's figures of each phase. Splits are those of the phase, not of the index since it was empty."""
    listed, before = [], dict.fromkeys(SPLITS, 0.0)  # before: splits until the phase begins
    for step, index in zip(done, after, strict=True):
        subject = Subject(kind, step.name)
        by_metric = {reading.metric: reading for reading in readings(index.stats, subject)}
        listed += [by_metric[metric] for metric in _PAGES if metric in by_metric]
        if step.splits:
            listed += [
                replace(by_metric[metric], value=(by_metric[metric].value or 0) - before[metric]) for metric in SPLITS
            ]
        before = {metric: by_metric[metric].value or 0.0 for metric in SPLITS}
        listed += _rows_reading(step, "modelled") if kind == SubjectKind.PHASE else []  # else the server gives them
        listed.append(Reading(Metric.REBUILD_FREES, index.rebuild_frees, "modelled", subject=subject))
        if index.stranded is not None:
            listed.append(Reading(Metric.STRANDED, index.stranded, "modelled", subject=subject))
    return listed


def _reads_after_restart(
    on: Engine, request: Request, trial_table: TrialTable, all_steps: Sequence[Step], kind: SubjectKind
) -> list[Reading]:
    """Pages that the model expects two insertions to read, with a restart of the server between them. Nothing for other
    phases, and if the model does not know."""
    if [step.what for step in all_steps] != ["insert", "restart", "insert"]:
        return []
    cost = cost_with_restart(on, request, trial_table, len(all_steps[0].rows))
    if cost is None:
        return []
    return [
        Reading(Metric.PAGES_READ, float(value), "modelled", cost.note, Subject(kind, step.name))
        for step, value in zip((all_steps[0], all_steps[2]), cost.read.all, strict=True)
    ]


def of_updates(step: Step, updated: int, hot: int) -> list[Reading]:
    """What the server counted in a phase that updates: rows updated, and those of them that added no entry."""
    counted = {Metric.HOT_UPDATES: hot, Metric.ENTRIES_ADDED: updated - hot}
    return [Reading(metric, float(count), "measured", subject=step.subject) for metric, count in counted.items()]


def new_texts(part: UpdatePart, trial_table: TrialTable, step: Step) -> tuple[str, ...]:
    """The new payloads of the step's rows. Each begins with a capital, which no inserted row does. The next step, and
    the next update of the same row in a step, take the next capital: servers may skip updates that change nothing."""
    pool = Payload(max(trial_table.table.payload, trial_table.table.longest)).texts
    rounds = np.arange(len(step.rows)) // len(np.unique(step.rows))  # in each round, every row is updated once
    letters = [chr(ord("A") + place) for place in ((rounds + step.number) % 26).tolist()]
    lengths = new_lengths(part, trial_table, step).tolist()
    return tuple(
        letter + pool[row % len(pool)][1:length]  # [1:]: the letter stands in place of the first character
        for letter, row, length in zip(letters, step.rows.tolist(), lengths, strict=True)
    )


def new_lengths(part: UpdatePart, trial_table: TrialTable, step: Step) -> Integers:
    """Characters of the new payloads of the step's rows: (rows,)."""
    lengths = trial_table.lengths()
    before = np.full(len(step.rows), trial_table.table.payload) if lengths is None else lengths[step.rows]
    return np.array([part.characters(n) for n in before.tolist()], np.int64)


def _rows_reading(step: Step, origin: Origin) -> list[Reading]:
    """How many rows a phase is about, as a reading; empty if it is about none."""
    rows = float(len(step.rows))
    return [Reading(Metric.PHASE_ROWS, rows, origin, subject=step.subject)] if rows else []


def of_whole(parts: Sequence[tuple[Step, Iterable[Reading]]]) -> list[Reading]:
    """The trial's readings of the key's index. Counters are added up: splits over phases that may split pages, log and
    other storage over phases that insert. All else is as after the last phase. `parts`: each step with the readings
    after it."""
    latest: dict[Metric, Reading] = {}
    sums: dict[Metric, float] = {}
    for step, measured in parts:
        for reading in measured:
            if reading.subject != KEY:
                continue
            metric, about = reading.metric, reading.metric.definition
            is_size = about.of_index or metric == Metric.TABLE_BYTES
            is_counter = about.theme in _SUMS and not is_size
            adds = step.splits if about.theme == Theme.SPLITS else step.inserts
            if is_counter and not adds:
                continue
            latest[metric] = reading
            if is_counter and reading.value is not None:
                sums[metric] = sums.get(metric, 0.0) + reading.value
    return [
        replace(reading, value=sums[metric]) if metric in sums and reading.value is not None else reading
        for metric, reading in latest.items()
    ]


def of_phase(step: Step, measured: Iterable[Reading], seconds: float, stranded: float | None) -> list[Reading]:
    """The server's figures of one phase: its `seconds`, the readings `measured` after it, and what is `stranded` on its
    leaves (`PresentKeys.stranded`)."""
    metrics = [*_PAGES, Metric.INDEX_BYTES, *_COSTS, *(SPLITS if step.splits else ())]
    by_metric = {reading.metric: reading for reading in measured if reading.subject == KEY}
    listed = [replace(by_metric[metric], subject=step.subject) for metric in metrics if metric in by_metric]
    listed += _rows_reading(step, "measured")
    if stranded is not None:
        listed.append(Reading(Metric.STRANDED, stranded, "derived", subject=step.subject))
    return [*listed, Reading(Metric.PHASE_SECONDS, seconds, "measured", subject=step.subject)]
