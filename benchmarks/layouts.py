"""Keys a second of every layout, on one core, beside memcpy of as many 16-byte keys and beside uuid_utils.uuid4."""

from __future__ import annotations

import time
import uuid
from collections.abc import Callable, Iterator
from statistics import median

import numpy as np
import uuid_utils

from benchmarks import pairs
from keybench.generators.byteorder import text36
from keybench.generators.layout import Layout, layouts

KEYS = 1_000_000
SINGLE = 100_000

# Shares of memcpy's rate that a layout is to reach; those not named here: a tenth.
TARGETS = {"uuid-v4": 0.5, "uuid-v7": 0.3, "efcore-sequential": 0.3, "morris": 0.3, "hotguid": 0.3}
FAMILY_TARGETS = {"rt-comb": 0.3, "jhtodd": 0.3}
OTHERS = 0.1
TEXT_TARGET = 0.035
SINGLE_TARGET = 15.0


def compare(rows: int, repetitions: int) -> Iterator[str]:  # noqa: ARG001 (keys cost too little to be counted in rows)
    """The lines of this part of the report."""
    yield f"\nKeys a second: {KEYS:,} at once on one core, the clock filled beforehand; medians of {repetitions}"
    known = list(dict.fromkeys(layouts().values()))
    ways: dict[str, Callable[[], float]] = {"memcpy of 16-byte keys": _memcpy()}
    ways |= {layout.name: _taking(layout) for layout in known}
    ways["36 characters of text"] = _text()
    times: dict[str, list[float]] = {name: [] for name in ways}
    one_by_one: dict[str, list[float]] = {"uuid_utils.uuid4": [], "uuid.uuid4": []}
    for _ in range(repetitions):
        for name, way in ways.items():
            times[name].append(way() / KEYS)
        one_by_one["uuid_utils.uuid4"].append(_calling(uuid_utils.uuid4))
        one_by_one["uuid.uuid4"].append(_calling(uuid.uuid4))
    memcpy = median(times["memcpy of 16-byte keys"])
    for name, seconds in times.items():
        yield _line(name, median(seconds), memcpy, _target(name))
    for name, seconds in one_by_one.items():
        yield f"  {name:<26} {1e-6 / median(seconds):8.2f} M/s, called one by one"
    factor = median(one_by_one["uuid_utils.uuid4"]) / median(times["uuid-v4"])
    yield (
        f"  uuid-v4 in bulk ÷ uuid_utils.uuid4 one by one: {factor:.1f} ×   "
        f"target ≥ {SINGLE_TARGET:g}: {'met' if factor >= SINGLE_TARGET else 'NOT met'}"
    )


def _target(name: str) -> float | None:
    if name.startswith("memcpy"):
        return None
    if name.startswith("36"):
        return TEXT_TARGET
    family = next((target for prefix, target in FAMILY_TARGETS.items() if name.startswith(prefix)), OTHERS)
    return TARGETS.get(name, family)


def _line(name: str, seconds: float, memcpy: float, target: float | None) -> str:
    share = memcpy / seconds
    line = f"  {name:<26} {1e-6 / seconds:8.1f} M/s   {share:5.3f} × memcpy"
    return line if target is None else f"{line}   target ≥ {target:g}: {'met' if share >= target else 'NOT met'}"


def _timed(work: Callable[[], object]) -> float:
    begin = time.perf_counter()
    work()
    return time.perf_counter() - begin


def _memcpy() -> Callable[[], float]:
    source, target = np.ones((2, KEYS, 16), np.uint8)
    return lambda: _timed(lambda: np.copyto(target, source))


def _taking(layout: Layout) -> Callable[[], float]:
    def run() -> float:
        stream = pairs.stream(layout.name, KEYS)
        return _timed(lambda: stream.take(KEYS))

    return run


def _text() -> Callable[[], float]:
    keys = pairs.keys("uuid-v4", KEYS)
    return lambda: _timed(lambda: text36(keys))


def _calling(make: Callable[[], object]) -> float:
    """Seconds a call."""

    def run() -> None:
        for _ in range(SINGLE):
            make()

    return _timed(run) / SINGLE
