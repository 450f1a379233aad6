"""A trial without a database: threads only make keys, which is timed; then the keys are examined.

Each thread has its own stream, as a writer has, and a clock that is filled beforehand at the scenario's rate. So the
counts of duplicates and of keys out of order, and the lead over the clock, are exact and the same in each run. Only
`take` is timed.
"""

import gc
import threading
import time
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from keybench.errors import UsageError
from keybench.generators.core.clock import TICKS_PER_MS, TICKS_PER_SECOND, VirtualClock, ticks_of
from keybench.generators.core.entropy import AesEntropy, Entropy, PlainEntropy, SystemEntropy
from keybench.generators.core.layout import Layout, Stream, layout
from keybench.model.byteorder import sort_words
from keybench.model.keys import Keys, Order
from keybench.model.metric import Metric
from keybench.model.reading import Reading
from keybench.results.store import records
from keybench.runners.measuring.machine import Interference
from keybench.runners.measuring.measured import Measurements
from keybench.runners.planning.key_sources import PROCESS
from keybench.runners.trials.trial import TrialRunner
from keybench.scenarios.parts import EntropyKind, Way
from keybench.scenarios.schema import Scenario

_BATCH = 10_000
"""Keys taken at once: as many as a writer sends in ten transactions of 1,000 rows."""


class KeysTrial(TrialRunner):
    """A trial that only makes keys, in threads, and then examines them."""

    @property
    def way(self) -> Way:
        """How the keys of this trial are made: threads and entropy; a plan without a database has it as its column."""
        generation = self.request.scenario.generation
        assert generation
        return next(way for way in generation.ways if way.title == self.plan.column)

    def identify(self, record: records.Trial) -> records.Trial:
        """The record with the way of making keys as its server, and without a column."""
        return replace(record, server=self.way.title, column="", writers=self.way.threads, rows_per_tx=_BATCH)

    def measure(self) -> Measurements:
        """Makes the keys, and counts what is wrong with them."""
        plan, way = self.plan, self.way
        chosen, threads = layout(plan.layout), way.threads
        entropy = _entropy(way.entropy, (self.request.seed, plan.block, plan.layout))
        counts = [len(part) for part in np.array_split(np.arange(plan.rows), threads)]  # keys of each thread
        clocks = [_arrivals(self.request.scenario, count, i, threads) for i, count in enumerate(counts)]
        streams = [
            chosen.stream(PROCESS.partition(i, of=threads), VirtualClock(ticks), entropy.partition(i, of=threads))
            for i, ticks in enumerate(clocks)
        ]
        interference = Interference.before()
        seconds, keys = _make(streams, counts)
        return Measurements(
            [
                *interference.after(),
                Reading(Metric.KEY_NS, 1e9 * seconds / plan.rows, "measured"),
                Reading(Metric.DUPLICATE_KEYS, float(duplicates(Keys.concat(keys))), "measured"),
                _order(chosen, keys),
                _lead(chosen, keys, clocks),
            ]
        )


def _entropy(kind: EntropyKind, seed: tuple[int | str, ...]) -> Entropy:
    """The random bytes of all threads; `seed` determines those that do not come from the operating system."""
    if kind == "os":
        return SystemEntropy()
    return AesEntropy.seeded(*seed) if kind == "aes" else PlainEntropy.seeded(*seed)


def _arrivals(scenario: Scenario, count: int, index: int, threads: int) -> NDArray[np.int64]:
    """What one thread's clock shows for each of its keys: ticks, (count,), at the scenario's rate, threads in turn."""
    intervals = np.arange(count) + index / threads  # since the start; a thread is `1 / threads` behind the one before
    return ticks_of(scenario.start) + (intervals * (TICKS_PER_SECOND / scenario.rate)).astype(np.int64)


def _make(streams: list[Stream], counts: list[int]) -> tuple[float, list[Keys]]:
    """(seconds from the first thread's start to the last one's end, each thread's keys)."""
    keys: list[list[Keys]] = [[] for _ in streams]  # of each thread, batch by batch
    failed: list[BaseException] = []
    barrier = threading.Barrier(len(streams) + 1)  # + 1: this thread, which takes the time

    def work(i: int) -> None:
        """What thread i does: it waits for the others and makes its keys."""
        barrier.wait()
        try:
            for first in range(0, counts[i], _BATCH):
                keys[i].append(streams[i].take(min(_BATCH, counts[i] - first)))
        except BaseException as error:  # `_make` raises it
            failed.append(error)

    threads = [threading.Thread(target=work, args=(i,), daemon=True) for i in range(len(streams))]
    gc.disable()  # a collection in the timed part would count as making keys
    try:
        for thread in threads:
            thread.start()
        barrier.wait()
        begin = time.perf_counter()
        for thread in threads:
            thread.join()
        seconds = time.perf_counter() - begin
    finally:
        gc.enable()
    if failed:
        raise failed[0]
    return seconds, [Keys.concat(parts) for parts in keys]


def duplicates(keys: Keys) -> int:
    """How many keys repeat an earlier one."""
    words = sort_words(keys, "rfc")
    words = words[np.lexsort(words.T[::-1])]  # sorted, so that equal keys are neighbours
    return int((words[1:] == words[:-1]).all(axis=1).sum())


def breaks(keys: Keys, order: Order) -> int:
    """How many keys do not sort above the preceding key in that order."""
    words = sort_words(keys, order)
    above = np.zeros(max(0, len(keys) - 1), np.bool_)
    for column in words.T[::-1]:  # the first word that differs decides, so the last is compared first
        above = (column[1:] > column[:-1]) | ((column[1:] == column[:-1]) & above)
    return int((~above).sum())


def _order(chosen: Layout, keys: list[Keys]) -> Reading:
    """How many keys do not sort above the one before, added up over threads; absent for a layout without an order."""
    if chosen.order == "none":
        return Reading(Metric.ORDER_BREAKS, None, "absent", "This layout ascends in no order.")
    return Reading(Metric.ORDER_BREAKS, float(sum(breaks(of_thread, chosen.order) for of_thread in keys)), "measured")


def _lead(chosen: Layout, keys: list[Keys], clocks: list[NDArray[np.int64]]) -> Reading:
    """The longest time by which a key is ahead of the clock; a key that is level or behind counts as 0."""
    time_field = chosen.description.time
    if time_field is None or not time_field.readable:
        return Reading(Metric.CLOCK_LEAD_MS, None, "absent", "No time can be read back from this layout's keys.")
    try:
        ticks = [chosen.decode(of_thread).ticks for of_thread in keys]
    except UsageError as error:
        return Reading(Metric.CLOCK_LEAD_MS, None, "absent", f"The keys' time cannot be read back: {error}")
    leads = [(in_key - clock).max(initial=0) for in_key, clock in zip(ticks, clocks, strict=True) if in_key is not None]
    return Reading(Metric.CLOCK_LEAD_MS, float(max(leads)) / TICKS_PER_MS, "measured")
