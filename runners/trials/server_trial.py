"""A trial on a server: from empty tables to verified rows, readings and the page model's prediction."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property

from keybench.databases.contract.engine import Engine
from keybench.databases.contract.roles import Admin
from keybench.errors import ServerError
from keybench.model.metric import Metric
from keybench.model.reading import Reading
from keybench.model.subject import MODEL
from keybench.results.store import blobs, records
from keybench.runners.measuring import contention, key_positions, latency, shards
from keybench.runners.measuring.arrival_order import Arrived, Recorder
from keybench.runners.measuring.interference import Interference
from keybench.runners.measuring.measured import Measured
from keybench.runners.planning.key_sources import KeySource, key_sources
from keybench.runners.planning.trial_plan import Request, TrialPlan
from keybench.runners.planning.trial_server import Target
from keybench.runners.planning.trial_tables import TrialTable, divide, table_of_each_writer
from keybench.runners.trials import engine_checks, verify
from keybench.runners.trials.after_load import after_load
from keybench.runners.trials.load_cost import load_cost
from keybench.runners.trials.prediction import beside, placement
from keybench.runners.trials.trial import Trial
from keybench.runners.writers.load import LoadResult, load_rows
from keybench.runners.writers.pool import LOCAL, WriterPool


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


@dataclass(frozen=True, eq=False)
class FinishedLoad:
    """What is known when the last row has been inserted."""

    result: LoadResult
    of_server: Sequence[Reading]
    """Readings of the server and of the machine."""
    of_tables: Sequence[Sequence[Reading]]
    """Readings of each table."""
    arrived: Sequence[Arrived]
    """The rows of each table in order of arrival; empty if that order is not known."""


class ServerTrial(Trial):
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
    def tables(self) -> tuple[TrialTable, ...]:
        """The tables and their writers."""
        scenario = self.request.scenario
        return divide(self.plan.table(scenario), self.sources, scenario.table.shards)

    def measure(self) -> Measured:
        """Load, verify, read, predict. The error of a server that went away says why, where that is known."""
        try:
            return self._measure()
        except ServerError as error:
            if not (why := self.resources.gone(self.plan.database)):
                raise
            explained = ServerError(f"{str(error).rstrip('.')}. {why}")
            explained.traceback = error.traceback
            raise explained from None

    def _measure(self) -> Measured:
        target = self.resources.reach(self.plan.database)
        self.server = target.server
        self.request = self.request.with_found(self.plan.database, target.settings)
        tables = self.tables  # planned before the trial's time begins to run
        self.deadline = time.monotonic() + self.request.trial_timeout
        self.admin = target.engine.admin(target.address)
        try:
            load = self.load(target, self.admin)
            self.verify(self.admin)
            readings, pictures = self.read(target, self.admin)
            for one in tables:
                self.admin.drop(one.table)
        finally:
            self.admin.close()
        predicted = self.predict(target.engine, load)
        readings = [*load.result.readings(), *load.of_server, *readings, *predicted.readings]
        return Measured(
            readings + _never_given(target.engine, readings),
            [load.result.series(), *latency.along(load.result), *predicted.series],
            [*pictures, *predicted.blobs],
            predicted.traceback,
        )

    def load(self, target: Target, admin: Admin) -> FinishedLoad:
        """Creates the tables and fills them. Counters are read before and after, never during the timed load."""
        for one in self.tables:
            admin.create(one.table)
        recorders = self.recorders(admin)
        probes = shards.Probes(admin, [one.table for one in self.tables])
        probes.before()
        interference = Interference.before()
        result = self.insert(target)
        of_machine = interference.after()
        of_server, of_tables = probes.after()
        arrived = [recorder.arrived(result) for recorder in recorders]
        of_writers = contention.rollbacks(result.rollbacks)
        return FinishedLoad(result, [*of_machine, *of_server, *of_writers], of_tables, arrived)

    def insert(self, target: Target) -> LoadResult:
        """Sends all rows."""
        return load_rows(
            target.address,
            self.tables[0].table,
            self.sources,
            rows_per_tx=self.request.scenario.load.rows_per_tx,
            skew_rows=self.request.scenario.load.skew_rows,
            timeout=self.deadline - time.monotonic(),
            path=self.path,
            pool=self.resources.pool,
            tables=table_of_each_writer(self.tables),
            progress=self.resources.progress,
        )

    def recorders(self, admin: Admin) -> Sequence[Recorder]:
        """What recovers the order of arrival in each table; empty if the load path does not keep an order."""
        return [Recorder(admin, one) for one in self.tables] if self.path.in_order else []

    def verify(self, admin: Admin) -> None:
        """VerificationError unless the tables hold exactly the keys that were sent."""
        for one in self.tables:
            verify.check_table(admin, one.table, one.keys)

    def read(self, target: Target, admin: Admin) -> tuple[list[Reading], list[blobs.Blob]]:
        """(readings, pictures) of the loaded tables. The work after the load comes last, because it may delete rows."""
        pictures = self.page_maps(admin)
        # A scenario with several tables has nothing to do after the load.
        after = after_load(self.request, self.plan, target, admin, self.tables[0], self.resources.pool, self.deadline)
        return after, pictures

    def page_maps(self, admin: Admin) -> list[blobs.Blob]:
        """The page map of the index on the server, if it can be read and will be drawn."""
        if not self.plan.drawn:
            return []
        orders = [admin.page_order(one.table) for one in shards.drawn(self.tables)]
        return [blobs.page_map(order.numbers, order.rows, "measured") for order in orders if order]

    def predict(self, on: Engine, load: FinishedLoad) -> Measured:
        """The measurements of the tables, the page model's predictions, and where the keys went."""
        if not load.arrived:
            unknown = Reading(Metric.LEAF_PAGES, None, "absent", self.path.no_prediction, MODEL)
            absent = key_positions.absent(self.path.no_position)
            return Measured([*shards.together(load.of_tables), unknown, *absent])
        predicted = [beside(on, one, read) for one, read in zip(load.arrived, load.of_tables, strict=True)]
        readings = shards.together([one.readings for one in predicted])
        placed = placement(self.request, self.plan, load.arrived, readings)
        costs = load_cost(on, self.request, load.arrived[0])
        return Measured(
            [*readings, *costs.readings, *placed.readings],
            placed.series,
            [blob for one in (*shards.drawn(predicted), placed, costs) for blob in one.blobs],
            next((one.traceback for one in predicted if one.traceback), ""),
        )

    def warnings(self, record: records.Trial) -> Sequence[str]:
        """What the trial shows about its engine's open questions, which concern rows in order of arrival."""
        return engine_checks.verdicts(self.request, self.plan, record) if self.path.in_order else ()


def _never_given(engine: Engine, readings: Sequence[Reading]) -> list[Reading]:
    """Metrics that the engine can never give and that no probe mentioned. A model beside the server may have them."""
    given = {reading.metric for reading in readings if reading.subject != MODEL}
    return [Reading(metric, None, "absent", why) for metric, why in engine.absent.items() if metric not in given]
