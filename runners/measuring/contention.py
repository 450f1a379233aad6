"""What writers do to one another: rollbacks and retries, and samples of waits."""

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

from keybench.databases.contract.roles import Admin, WaitSampler
from keybench.databases.core.retried import Rollbacks
from keybench.errors import ServerError
from keybench.model.metric import Metric
from keybench.model.reading import Reading

NOT_SAMPLED = "this engine's waits are not sampled"


def rollback_readings(counted: Rollbacks | None) -> list[Reading]:
    """Aborts and deadlocks per 1,000 transactions, and retries until success; nothing if they are not counted."""
    if counted is None:
        return []
    retries = counted.retries  # of each transaction; each retry follows an abort
    per_thousand = 1000 / max(len(retries), 1)  # 1: without transactions, the sums below are 0
    values = {Metric.ABORTS: per_thousand * float(retries.sum()), Metric.DEADLOCKS: per_thousand * counted.deadlocks}
    if retries.any():  # else nothing was retried, and there is no mean
        values[Metric.RETRIES] = float(retries[retries > 0].mean())
    return [Reading(metric, value, "measured") for metric, value in values.items()]


class WaitWatch:
    """Samples of all writers' waits, taken by a thread of the runner with a connection of its own, while rows are sent.

    Writers connect and prepare before the first row, and some end before others: that is no part of the samples.
    """

    def __init__(self, sampler: WaitSampler | None, rate: int, rows: int, problem: ServerError | None = None) -> None:
        """`rate`: samples a second, 0 for none. `rows`: all that are sent. `problem`: why there is no `sampler`."""
        self._sampler, self._rate, self._rows = sampler, rate, rows
        self._sending, self.end = threading.Event(), threading.Event()  # from the first row sent; from the last one
        self._problem = problem

    def sent(self, rows: int) -> None:
        """Notes how many rows all writers have sent: sampling begins with the first of them and ends with the last."""
        if 0 < rows < self._rows:
            self._sending.set()
        elif self._sending.is_set():  # all rows are sent: `rows` is 0 only before the first
            self.end.set()

    def readings(self) -> list[Reading]:
        """What the samples show; absent with the reason if there are none, and nothing if the rate is 0."""
        if not self._rate:
            return []
        if self._problem:
            return Reading.absent([Metric.WAITING], str(self._problem))
        if self._sampler is None:
            return Reading.absent([Metric.WAITING], NOT_SAMPLED)
        return list(self._sampler.readings())

    def run(self) -> None:
        """Samples from the first row sent until `end` is set."""
        assert self._sampler is not None
        while not self._sending.wait(0.01):
            if self.end.is_set():  # the load has failed before its first row
                return
        due = time.monotonic()
        try:
            while not self.end.is_set():
                self._sampler.sample()
                due = max(due + 1 / self._rate, time.monotonic())  # a late sample is not made up for
                self.end.wait(due - time.monotonic())
        except ServerError as error:  # the load goes on, and reports what is wrong with the server itself
            self._problem = error


@contextmanager
def watch(admin: Admin, rate: int, rows: int) -> Iterator[WaitWatch]:
    """Samples until the block ends, `rate` times a second, while `rows` rows are sent."""
    sampler, problem = None, None
    try:
        sampler = admin.wait_sampler() if rate else None
    except ServerError as error:  # the user may not see waits: the reading is absent, the load goes on
        problem = error
    watching = WaitWatch(sampler, rate, rows, problem)
    thread = threading.Thread(target=watching.run, name="wait-sampler", daemon=True)
    if sampler:
        thread.start()
    try:
        yield watching
    finally:
        watching.end.set()
        if sampler:
            thread.join()
            sampler.close()
