"""Trials on a server: from empty tables to verified rows, readings and the page model's prediction.

The client makes the keys, the server makes them, or writers are watched for what they do to one another.
"""

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import Final

from keybench.databases.contract.engine import Engine
from keybench.databases.contract.questions import JudgedTrial
from keybench.databases.contract.roles import Admin
from keybench.databases.core.dbapi import ANSWER_SECONDS
from keybench.databases.hosting.url_server import with_next_step
from keybench.databases.registry import engine
from keybench.errors import ServerError, ServerGone
from keybench.model.metric import Metric
from keybench.model.reading import Reading
from keybench.model.subject import MODEL
from keybench.results.store import blobs, records
from keybench.results.store.blobs import Blob
from keybench.results.store.records import Trial
from keybench.runners.measuring import contention, key_positions
from keybench.runners.measuring.arrival_order import Arrived, Recorder
from keybench.runners.measuring.machine import Interference
from keybench.runners.measuring.measured import Measurements, Probes
from keybench.runners.planning.key_sources import KeySource, key_sources
from keybench.runners.planning.trial_plan import Request, TrialPlan
from keybench.runners.planning.trial_tables import TrialTable
from keybench.runners.servers import Target
from keybench.runners.trials.after_load import check_distinct, check_table
from keybench.runners.trials.load_cost import load_cost
from keybench.runners.trials.prediction import placement, predicted_beside
from keybench.runners.trials.trial import TrialRunner
from keybench.runners.writers.load import LoadResult, load_rows
from keybench.runners.writers.processes import LOCAL, WriterPool, run_all
from keybench.runners.writers.reader import ReaderTask, read


@dataclass(frozen=True)
class Resources:
    """What trials on servers use."""

    reach: Callable[[str], Target]
    """Gives a database's server, started again if it has died."""
    pool: WriterPool = LOCAL
    progress: Callable[[int], None] = lambda _: None
    """Called with the number of rows sent so far."""
    restart: Callable[[str], None] = lambda _: None
    """Starts a database's server again and waits until it answers."""
    gone: Callable[[str], str] = lambda _: ""
    """Why a database's server went away, and the next step, as a sentence; empty if it is there."""


FILL_ROWS: Final = 1000
"""Rows of a transaction that fills the table before."""


class ServerTrial(TrialRunner):
    """A trial on a server, with keys that the client makes."""

    def __init__(self, request: Request, plan: TrialPlan, resources: Resources) -> None:
        super().__init__(request, plan)
        self.resources = resources
        self.path = request.scenario.load_path
        self.deadline = 0.0

    @cached_property
    def sources(self) -> tuple[KeySource, ...]:
        """Where each writer's keys come from."""
        return key_sources(self.request, self.plan)

    @cached_property
    def table(self) -> TrialTable:
        """The table and its writers."""
        return TrialTable(self.plan.table(self.request.scenario), self.sources)

    def measure(self) -> Measurements:
        """Creates the table, fills, verifies, reads and predicts. Counters are read before and after the load alone."""
        with self.connected() as target:
            # an empty table, and counters before the load
            work, admin, table = self.request.scenario.load, self.admin, self.table.table
            admin.create(table)
            recorder = self.recorder(admin)
            probes = Probes(admin, table)
            probes.before()
            interference = Interference.before()
            # the load: first the part that is only there to fill the table, then the measured one
            of_both = target.address, table, self.sources  # arguments of both parts
            send = partial(load_rows, *of_both, skew_rows=work.skew_rows, path=self.path, pool=self.resources.pool)
            rows_before = sum(int(source.writer.rows * work.filled) for source in self.sources)
            if rows_before:
                send(rows_per_tx=FILL_ROWS, part=(0.0, work.filled), timeout=self.seconds_left())

            def progress(rows: int) -> None:
                watch.sent(rows)  # the `watch` of the block below
                self.resources.progress(rows_before + rows)

            with contention.watch(admin, work.watched, self.plan.rows - rows_before) as watch:
                loaded = send(
                    rows_per_tx=work.rows_per_tx,
                    part=(work.filled, 1.0),
                    style=work.style,
                    timeout=self.seconds_left(),
                    progress=progress,
                )
            # counters after the load, the order of arrival, and the rows themselves
            of_machine = interference.after()
            of_table = probes.after()
            arrived = recorder.arrived(loaded) if recorder else None
            self.verify(admin)
            of_look_ups, pictures = self.look_up(target, admin)
        of_writers = [*contention.rollback_readings(loaded.rollbacks), *watch.readings()]
        predicted = self.predict(target.engine, of_table, arrived)  # has the readings of the table, too
        return self.together(target.engine, loaded, [*of_machine, *of_writers, *of_look_ups], pictures, predicted)

    @contextmanager
    def connected(self) -> Iterator[Target]:
        """The server, with `self.admin` connected to it. Sets `self.server`, `self.deadline`, and the settings of
        `self.request`. If all goes well, the table is dropped at the end. If a server went away and somebody knows why,
        ServerGone says so."""
        try:
            target = self.resources.reach(self.plan.database)
            self.server = target.server
            # Pages depend on the settings that the server has, not on those that were asked for.
            reported = {f"{self.plan.database}.{name}": value for name, value in target.settings.items()}
            self.request = replace(self.request, scenario=self.request.scenario.with_settings(reported))
            table = self.table.table  # a cached property: planned now, before the trial's time begins to run
            self.deadline = time.monotonic() + self.request.trial_timeout
            self.admin = target.engine.admin(target.address)
            self.admin.limit(self.request.trial_timeout + ANSWER_SECONDS)
            try:
                yield target
                self.admin.drop(table)
            finally:
                self.admin.close()
        except ServerError as error:
            if not (why := self.resources.gone(self.plan.database)):
                raise
            explained = ServerGone(with_next_step(f"{str(error).rstrip('.')}. {why}"))
            explained.traceback = error.traceback
            raise explained from None

    def seconds_left(self) -> float:
        """Seconds until the trial's time is over; negative afterwards."""
        return self.deadline - time.monotonic()

    @staticmethod
    def together(
        on: Engine, loaded: LoadResult, readings: Sequence[Reading], pictures: Sequence[Blob], predicted: Measurements
    ) -> Measurements:
        """All that the trial has measured, with the metrics that its engine can never give."""
        everything = [*loaded.readings(), *readings, *predicted.readings]
        # Metrics that no probe mentioned; a model beside the server may have them.
        mentioned = {reading.metric for reading in everything if reading.subject != MODEL}
        never = [(metric, why) for metric, why in on.absent.items() if metric not in mentioned]
        everything += [Reading(metric, None, "absent", why) for metric, why in never]
        return Measurements(everything, [loaded.series()], [*pictures, *predicted.blobs], predicted.traceback)

    def recorder(self, admin: Admin) -> Recorder | None:
        """What recovers the order of arrival; None if the load path does not keep an order."""
        return Recorder(admin, self.table) if self.path.in_order else None

    def verify(self, admin: Admin) -> None:
        """VerificationError unless the table holds exactly the keys that were sent."""
        check_table(admin, self.table.table, self.table.keys)

    def look_up(self, target: Target, admin: Admin) -> tuple[list[Reading], list[Blob]]:
        """(readings of the look-ups that the scenario asks for, pictures)."""
        pictures, reads = self.page_maps(admin), self.request.scenario.after.reads
        if not reads:
            return [], pictures
        seed = self.request.seed * 1000 + self.plan.block  # each block looks up other keys
        task = ReaderTask(target.address, self.table.table, self.sources, reads=reads, seed=seed)
        (readings,) = run_all(read, [(task,)], timeout=self.seconds_left())
        return readings, pictures

    def page_maps(self, admin: Admin) -> list[Blob]:
        """The page map of the index on the server, if it can be read and will be drawn."""
        if not self.plan.drawn:
            return []
        order = admin.page_order(self.table.table)
        return [blobs.page_map(order.numbers, order.rows, "measured")] if order else []

    def predict(self, on: Engine, measured: Sequence[Reading], arrived: Arrived | None) -> Measurements:
        """What was measured of the table, the page model's prediction, and where the keys went. `arrived`: the rows in
        order of arrival; None if nobody knows that order."""
        if arrived is None:
            return without_order(measured, self.path.no_prediction, self.path.no_position)
        predicted, costs = predicted_beside(on, arrived, measured), load_cost(on, self.request, arrived)
        placed = placement(arrived, predicted.readings)
        all_readings = [*predicted.readings, *costs.readings, *placed.readings]
        pictures = [*predicted.blobs, *placed.blobs, *costs.blobs]
        return Measurements(all_readings, blobs=pictures, traceback=predicted.traceback)

    def warnings(self, record: records.Trial) -> Sequence[str]:
        """What the trial shows about its engine's open questions, which concern rows in order of arrival."""
        return question_verdicts(self.request, self.plan, record) if self.path.in_order else ()


def without_order(measured: Sequence[Reading], no_prediction: str, no_position: str) -> Measurements:
    """What was measured, and the reasons why the figures that need the order of arrival are absent."""
    unknown = Reading(Metric.LEAF_PAGES, None, "absent", no_prediction, MODEL)
    return Measurements([*measured, unknown, *key_positions.absent(no_position)])


_READS: Final = (Metric.POINT_UNIFORM_US, Metric.POINT_RECENT_US, Metric.RANGE_US_PER_ROW)
_NO_READS = "The server made the keys: there is no list of them in order of arrival to choose from."


class ServerKeysTrial(ServerTrial):
    """A trial on a server that makes the keys.

    Neither the keys nor the order in which they are made is known beforehand. So the keys are read back and counted,
    and there are no look-ups, no prediction and no positions.
    """

    def recorder(self, admin: Admin) -> None:
        """None: nobody knows the keys beforehand, so their order cannot be recovered."""

    def verify(self, admin: Admin) -> None:
        """VerificationError unless the table holds as many keys as rows were sent, all different."""
        check_distinct(self.plan.rows, admin.stored_keys(self.table.table))

    def look_up(self, target: Target, admin: Admin) -> tuple[list[Reading], list[Blob]]:  # noqa: ARG002 (no look-ups)
        """(the reason why there are no look-ups, if the scenario asks for some; the page map)."""
        asked = self.request.scenario.after.reads
        return list(Reading.absent(_READS, _NO_READS)) if asked else [], self.page_maps(admin)

    def predict(self, on: Engine, measured: Sequence[Reading], arrived: Arrived | None) -> Measurements:  # noqa: ARG002
        """What was measured, and nothing else: a page model needs the keys."""
        return Measurements(measured)


NO_PREDICTION: Final = (
    "No prediction: trials about what writers do to one another do not recover the order in which rows arrive."
)
NO_POSITION: Final = "Not known in trials about what writers do to one another."


class ContendedTrial(ServerTrial):
    """A trial whose writers are watched while they send."""

    def recorder(self, admin: object) -> None:
        """None: rows that were rolled back would be in what it records."""

    def predict(self, on: Engine, measured: Sequence[Reading], arrived: Arrived | None) -> Measurements:  # noqa: ARG002
        """What was measured, and why there is nothing else."""
        return without_order(measured, NO_PREDICTION, NO_POSITION)


def trial_for_judges(request: Request, planned: TrialPlan, trial: Trial) -> JudgedTrial:
    """What judges of questions see of a trial."""
    return JudgedTrial(planned.layout, planned.table(request.scenario), trial.rows, trial.writers, trial.readings)


def question_verdicts(request: Request, planned: TrialPlan, trial: Trial) -> list[str]:
    """A sentence for each verdict on a question that any run may answer, to be stored as a warning of the run. Empty if
    the trial failed. The questions are about indexes that were only inserted into: trials with phases answer none."""
    if trial.status == "error" or request.scenario.kind == "phases":
        return []
    on, seen = engine(planned.database), trial_for_judges(request, planned, trial)
    where = f"{planned.layout} in {planned.column}"
    sentences = []
    for question in on.questions:
        verdict = question.judge(seen) if question.of_any_run else None
        if verdict is not None and verdict.outcome != "not measured":
            evidence = f": {verdict.evidence}" if verdict.evidence else ""
            sentences.append(f"{on.title}, {question.statement}: {verdict.outcome} ({where}{evidence}).")
    return sentences
