"""Trials whose index has a past: on a server with the page model beside it, and by the page model alone."""

import time
from collections.abc import Iterable, Sequence
from functools import cached_property

import numpy as np

from keybench.databases.contract.engine import Engine
from keybench.databases.contract.roles import Admin
from keybench.databases.registry import engine
from keybench.model.metric import Metric
from keybench.model.reading import Reading
from keybench.model.subject import KEY, MODEL
from keybench.model.table import Table
from keybench.pagemodels.page_stats import readings
from keybench.results.store import blobs
from keybench.runners.measuring import key_positions
from keybench.runners.measuring.arrival_order import Arrived
from keybench.runners.measuring.machine import Interference
from keybench.runners.measuring.measured import Measurements, Probes
from keybench.runners.planning.trial_tables import trial_table
from keybench.runners.servers import Target
from keybench.runners.trials import phase_figures as figures
from keybench.runners.trials.after_load import check_table
from keybench.runners.trials.phase_figures import PresentKeys, Step, rows_left, steps
from keybench.runners.trials.prediction import NOT_MODELLED, WHY_NOT, measured_whatever_a_model_does, no_prediction
from keybench.runners.trials.server_trial import ServerTrial
from keybench.runners.trials.trial import TrialRunner
from keybench.runners.writers.load import LoadResult, joined, load_rows
from keybench.runners.writers.processes import run_all
from keybench.runners.writers.reader import ReaderTask, work


class PhasesTrial(ServerTrial):
    """A trial with phases on a server."""

    @cached_property
    def steps(self) -> tuple[Step, ...]:
        """What is done."""
        return steps(self.request, self.plan, self.table.ranks)

    def measure(self) -> Measurements:
        """Does all phases, verifies, reads and predicts. The counters are read before and after each phase."""
        table = self.table.table
        with self.connected() as target:
            self.admin.create(table)
            interference = Interference.before()
            loads, by_step, of_phases = [], [], []
            present_keys = PresentKeys(self.table.ranks)
            for step in self.steps:
                if step.what == "restart":  # nothing is read around it: it has seconds alone
                    begin = time.monotonic()
                    self._restart(target)
                    of_phases += figures.of_phase(step, [], time.monotonic() - begin, None)
                    continue
                probes = Probes(self.admin, table)
                probes.before()
                before = self.admin.updates(table) if step.what == "update" else None  # (updated, without new entries)
                seconds, loaded = self._do(step, target)
                loads += loaded
                measured = probes.after()
                if before and (after := self.admin.updates(table)):
                    of_phases += figures.of_updates(step, after[0] - before[0], after[1] - before[1])
                by_step.append((step, measured))
                present_keys.take(step)
                stranded = _stranded(self.admin, table, present_keys, measured)
                of_phases += figures.of_phase(step, measured, seconds, stranded)
            of_machine = interference.after()
            check_table(self.admin, table, self.table.keys[rows_left(self.steps)])
            pictures = self.page_maps(self.admin)
        predicted = self.predict(target.engine, figures.of_whole(by_step), None)
        return self.together(target.engine, joined(loads), [*of_machine, *of_phases], pictures, predicted)

    def _do(self, step: Step, target: Target) -> tuple[float, list[LoadResult]]:
        """Does one phase other than a restart. Gives (its seconds, its load in a list: empty if it inserts nothing)."""
        if step.inserts:
            loaded = self._insert(target, step)
            return loaded.seconds + (self._rebuild(step) if step.what == "build" else 0), [loaded]
        if step.what in ("delete", "update", "read"):
            self.admin.hold_cleaning()  # until a phase cleans or rebuilds
            return self._change_or_read(target, step), []
        if step.what == "rebuild":
            return self._rebuild(step), []
        begin = time.monotonic()
        self.admin.settle(self.table.table)  # the phase `clean`
        return time.monotonic() - begin, []

    def predict(self, on: Engine, measured: Sequence[Reading], arrived: Arrived | None) -> Measurements:  # noqa: ARG002
        """What was measured, and what the page model has after each phase up to the first one that it refuses. It takes
        the rows in planned order."""
        without_model = [*measured, *key_positions.absent(figures.NO_POSITION)]

        def predict_too() -> Measurements:
            last, of_phases, refused = figures.predicted(on, self.request, self.table, self.steps, beside_server=True)
            of_model = [no_prediction(refused)] if refused else readings(last, MODEL)
            return Measurements([*without_model, *of_model, *of_phases])

        return measured_whatever_a_model_does(without_model, predict_too)

    def _insert(self, target: Target, step: Step) -> LoadResult:
        """Sends the rows of a step that inserts."""
        first = int(step.rows[0])
        return load_rows(
            target.address,
            self.table.table,
            self.sources,
            rows_per_tx=self.request.scenario.load.rows_per_tx,
            timeout=self.seconds_left(),
            only=range(first, first + len(step.rows)),
            path=self.path,
            pool=self.resources.pool,
            progress=lambda rows: self.resources.progress(first + rows),
        )

    def _restart(self, target: Target) -> None:
        """Starts the server again, and connects to it."""
        self.admin.close()
        self.resources.restart(self.plan.database)
        self.admin = target.engine.admin(target.address)

    def _rebuild(self, step: Step) -> float:
        """Rebuilds the key's index; returns the seconds that it took. The phase `build` ends so: the index is as if
        built from all rows at once."""
        begin = time.monotonic()
        self.admin.rebuild(self.table.table, step.fill)
        return time.monotonic() - begin

    def _change_or_read(self, target: Target, step: Step) -> float:
        """Deletes, updates or reads the rows of the step; returns the seconds that it took, 0 if there are no rows."""
        if not len(step.rows):
            return 0.0
        update, read = step.update, step.read
        rows_per_tx = self.request.scenario.load.rows_per_tx
        texts: tuple[str, ...] = ()
        if update:
            rows_per_tx = update.rows_per_tx or rows_per_tx
            if update.which == "hot":  # a transaction updates no row twice
                rows_per_tx = min(rows_per_tx, len(np.unique(step.rows)))
            texts = figures.new_texts(update, self.table, step) if update.column == "payload" else ()
        task = ReaderTask(target.address, self.table.table, self.sources, rows_per_tx, rows=step.rows, texts=texts)
        what: str = step.what  # as `reader.work` calls it
        if read:  # exactly one of its fields is set
            kinds = {"look up": read.present, "look up deleted": read.deleted, "scan": read.scan, "pop": read.pop}
            what = next(kind for kind, amount in kinds.items() if amount is not None)
        (seconds,) = run_all(work, [(task, what)], timeout=self.seconds_left())
        return float(seconds)


class PhasesModelTrial(TrialRunner):
    """A trial with phases by the page model alone."""

    def measure(self) -> Measurements:
        """Makes the keys and predicts."""
        planned, on = trial_table(self.request, self.plan), engine(self.plan.database)
        all_steps = steps(self.request, self.plan, planned.ranks)
        last, of_phases, _ = figures.predicted(on, self.request, planned, all_steps, beside_server=False)
        absent = [*Reading.absent(NOT_MODELLED, WHY_NOT), *key_positions.absent(figures.NO_POSITION)]
        pages = blobs.page_map(last.page_numbers, last.page_rows, "modelled")
        return Measurements([*readings(last), *absent, *of_phases], blobs=[pages])


def _stranded(admin: Admin, table: Table, present_keys: PresentKeys, measured: Iterable[Reading]) -> float | None:
    """Free room, in %, on leaves of the server's index without a row of the last insertion. None if the index's pages
    cannot be read. `measured`: readings of the table."""
    values = (reading.value for reading in measured if (reading.subject, reading.metric) == (KEY, Metric.LEAF_DENSITY))
    order, density = admin.page_order(table), next(values, None)
    return None if order is None or density is None else present_keys.stranded(order.rows, density)
