"""Trials without a database: threads that do nothing but make keys, timed; then the keys are looked at.

Each thread has a stream of its own, as a writer has, and a clock filled beforehand at the scenario's rate, so that
duplicates, order and the lead over the clock are counted exactly and repeat. The time is that of `take` alone.
"""

from __future__ import annotations

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
from keybench.generators.core.process import Process
from keybench.model.byteorder import sort_words
from keybench.model.keys import Keys, Order
from keybench.model.metric import Metric
from keybench.model.reading import Reading
from keybench.results.store.store import Trial
from keybench.runners.measuring.conditions import Conditions
from keybench.runners.planning.plan import Request, TrialPlan
from keybench.runners.trials.attempt import Measured, attempt
from keybench.scenarios.schema import EntropyKind, Scenario, Way

_BATCH = 10_000
"""Keys asked for at once: what a writer sends in ten transactions."""


def run_trial(request: Request, trial: TrialPlan) -> Trial:
    """Makes the keys and looks at them; whatever goes wrong, short of an interruption, is the trial's error."""
    assert request.scenario.generation
    (way,) = [way for way in request.scenario.generation.ways if way.title == trial.column]
    ended = attempt(request, trial, lambda: Measured(_measure(request, trial, way)))
    return replace(ended, server=way.title, column="", writers=way.threads, rows_per_tx=_BATCH)


def _measure(request: Request, trial: TrialPlan, way: Way) -> list[Reading]:
    made = layout(trial.layout)
    entropy = _entropy(way.entropy, (request.seed, trial.block, trial.layout))
    process = Process("keybench", 4242)
    counts = [len(part) for part in np.array_split(np.arange(trial.rows), way.threads)]
    clocks = [_arrivals(request.scenario, count, i, way.threads) for i, count in enumerate(counts)]
    streams = [
        made.stream(process.partition(i, of=way.threads), VirtualClock(ticks), entropy.partition(i, of=way.threads))
        for i, ticks in enumerate(clocks)
    ]
    conditions = Conditions.before()
    seconds, keys = _make(streams, counts)
    return [
        *conditions.after(),
        Reading(Metric.KEY_NS, 1e9 * seconds / trial.rows, "measured"),
        Reading(Metric.DUPLICATE_KEYS, float(duplicates(Keys.concat(keys))), "measured"),
        _order(made, keys),
        _lead(made, keys, clocks),
    ]


def _entropy(kind: EntropyKind, seed: tuple[int | str, ...]) -> Entropy:
    if kind == "os":
        return SystemEntropy()
    return AesEntropy.seeded(*seed) if kind == "aes" else PlainEntropy.seeded(*seed)


def _arrivals(scenario: Scenario, count: int, index: int, of: int) -> NDArray[np.int64]:
    """Arrival ticks of one thread's keys; threads take turns."""
    place = np.arange(count) + index / of
    return ticks_of(scenario.start) + (place * (TICKS_PER_SECOND / scenario.rate)).astype(np.int64)


def _make(streams: list[Stream], counts: list[int]) -> tuple[float, list[Keys]]:
    """(seconds from the first thread's start to the last one's end, each thread's keys)."""
    made: list[list[Keys]] = [[] for _ in streams]
    failed: list[BaseException] = []
    barrier = threading.Barrier(len(streams) + 1)

    def work(i: int) -> None:
        barrier.wait()
        try:
            for first in range(0, counts[i], _BATCH):
                made[i].append(streams[i].take(min(_BATCH, counts[i] - first)))
        except BaseException as error:  # handed to the trial, which it belongs to
            failed.append(error)

    threads = [threading.Thread(target=work, args=(i,), daemon=True) for i in range(len(streams))]
    gc.collect()
    gc.disable()
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
    return seconds, [Keys.concat(parts) for parts in made]


def duplicates(keys: Keys) -> int:
    """Keys that stand there already."""
    words = sort_words(keys, "rfc")
    words = words[np.lexsort(words.T[::-1])]
    return int((words[1:] == words[:-1]).all(axis=1).sum())


def breaks(keys: Keys, order: Order) -> int:
    """Keys that are not above the one before, in that order."""
    words = sort_words(keys, order)
    above = np.zeros(max(0, len(keys) - 1), np.bool_)
    for column in words.T[::-1]:  # the first word that differs decides: so the last is looked at first
        above = (column[1:] > column[:-1]) | ((column[1:] == column[:-1]) & above)
    return int((~above).sum())


def _order(made: Layout, keys: list[Keys]) -> Reading:
    if made.order == "none":
        return Reading(Metric.ORDER_BREAKS, None, "absent", "This layout ascends in no order.")
    return Reading(Metric.ORDER_BREAKS, float(sum(breaks(part, made.order) for part in keys)), "measured")


def _lead(made: Layout, keys: list[Keys], clocks: list[NDArray[np.int64]]) -> Reading:
    """How far the time in a key is ahead of the clock at most; a key that is behind or level counts as 0."""
    about = made.description.time
    if about is None or not about.readable:
        return Reading(Metric.CLOCK_LEAD_MS, None, "absent", "No time can be read back from this layout's keys.")
    try:
        ticks = [made.decode(part).ticks for part in keys]
    except UsageError as error:
        return Reading(Metric.CLOCK_LEAD_MS, None, "absent", f"The keys' time cannot be read back: {error}")
    leads = [(read - clock).max(initial=0) for read, clock in zip(ticks, clocks, strict=True) if read is not None]
    return Reading(Metric.CLOCK_LEAD_MS, float(max(leads)) / TICKS_PER_MS, "measured")
