"""Keys a second of every layout on one core, relative to memcpy of the same number of keys.

Arrays are larger than the second-level cache and new each time, for our keys and for the copy, because `take` returns
new arrays. Their memory belongs to the process already and was touched before (`memory`). Copying into an existing
array is shown too.
"""

import time
import uuid
from collections.abc import Callable, Iterator
from statistics import median

import numpy as np
import uuid_utils
from cryptography.hazmat.backends.openssl import backend

from benchmarks import memory, pairs
from keybench.generators import new
from keybench.generators.core.layout import Layout, layouts
from keybench.model.byteorder import text36

KEYS = 1 << 22
"""64 MiB of 16-byte keys."""
FEWER = 1 << 20
"""Keys of slow layouts: text, and hashes."""
SINGLE = 20_000
_KEPT = 1 << 30
"""Bytes touched beforehand: several times the largest array."""
SLOW = {"uuid-v3", "uuid-v5", "uuid-v8-name", "percona-week"}
"""Layouts that hash one key after the other."""

_SINGLE_FACTOR = 15.0
_COPY = "memcpy into a new array"


def compare(rows: int, repetitions: int) -> Iterator[str]:  # noqa: ARG001 (keys are too cheap for that)
    """The lines of this part of the report."""
    yield f"\nKeys a second on one core: {KEYS:,} at once (text, hashes: {FEWER:,}), medians of {repetitions}"
    warm = "touched before" if memory.keep(_KEPT) else "fresh from the system: no glibc here to keep it"
    yield f"  clock readings lie ready; each take is a new array, and so is the copy; memory is {warm}"
    yield f"  keystream of {backend.openssl_version_text()}"
    known = list(dict.fromkeys(layouts().values()))
    copy = _copy()
    ways: dict[str, Callable[[], float]] = {_COPY: copy, "memcpy into an old one": _copy_over()}
    ways |= {layout.name: _taking(layout) for layout in known}
    ways["text of 36 characters"] = _text()
    times: dict[str, list[float]] = {name: [] for name in ways}
    singles: dict[str, Callable[[], object]] = {
        "uuid_utils.uuid4()": uuid_utils.uuid4,
        "uuid.uuid4()": uuid.uuid4,
        'new("uuid-v7")': lambda: new("uuid-v7"),
    }
    one_by_one: dict[str, list[float]] = {name: [] for name in singles}
    for _ in range(repetitions):
        for name, way in ways.items():
            # The copy is timed beside each layout, because the machine may be slower for a while.
            times[_COPY].append(copy())
            times[name].append(way())
        for name, make in singles.items():
            one_by_one[name].append(_calling(make))
    memcpy = median(times[_COPY])
    for name, repeated in times.items():
        seconds = median(repeated)
        yield f"  {name:<32} {1e-6 / seconds:7.1f} M/s  {1e9 * seconds:7.1f} ns   {memcpy / seconds:6.3f} × memcpy"
    for name, calls in one_by_one.items():
        yield f"  {name:<32} {1e9 * median(calls):7.0f} ns, called one by one"
    factor = median(one_by_one["uuid_utils.uuid4()"]) / median(times["uuid-v4"])
    yield f"  uuid-v4 in bulk ÷ uuid_utils.uuid4() one by one: {factor:.1f} ×   target ≥ {_SINGLE_FACTOR:g}"
    single = median(one_by_one["uuid.uuid4()"]) / median(one_by_one['new("uuid-v7")'])
    yield f'  new("uuid-v7") ÷ uuid.uuid4(): {single:.2f} ×'


def _timed(work: Callable[[], object]) -> float:
    # Processor time of this process: other processes do not add to it.
    begin = time.process_time()
    kept = work()
    seconds = time.process_time() - begin
    del kept
    return seconds


def _copy() -> Callable[[], float]:
    source = np.ones((KEYS, 16), np.uint8)
    return lambda: _timed(source.copy) / KEYS


def _copy_over() -> Callable[[], float]:
    source, target = np.ones((2, KEYS, 16), np.uint8)
    return lambda: _timed(lambda: np.copyto(target, source)) / KEYS


def _taking(layout: Layout) -> Callable[[], float]:
    n = FEWER if layout.kind == "text" or layout.name in SLOW else KEYS

    def run() -> float:
        stream = pairs.stream(layout.name, n)
        return _timed(lambda: stream.take(n)) / n

    return run


def _text() -> Callable[[], float]:
    keys = pairs.keys("uuid-v4", KEYS)
    return lambda: _timed(lambda: text36(keys)) / KEYS


def _calling(make: Callable[[], object]) -> float:
    """Seconds a call."""

    def run() -> None:
        for _ in range(SINGLE):
            make()

    return _timed(run) / SINGLE
