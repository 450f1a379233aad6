"""Keys a second of every layout on one core, relative to memcpy of the same number of keys, and to hash functions.

Arrays are larger than the second-level cache and new each time, for our keys and for the copy, because `take` returns
new arrays. Their memory belongs to the process already and was touched before (`memory`). Copying into an existing
array is shown too. The first repetition may import numba and compile loops; the median is not affected.
"""

from __future__ import annotations

import shutil
import subprocess
import time
import uuid
from collections.abc import Callable, Iterator
from importlib.metadata import version
from statistics import median

import numpy as np
import uuid_utils
from cryptography.hazmat.backends.openssl import backend

from benchmarks import memory, pairs
from keybench.generators import new
from keybench.generators.core.entropy.keystream import galois_is_faster
from keybench.generators.core.layout import Layout, layouts
from keybench.model.byteorder import text36

KEYS = 1 << 22
"""64 MiB of 16-byte keys."""
FEWER = 1 << 20
"""Keys of slow layouts: text, and hashes."""
SINGLE = 100_000
_KEPT = 1 << 30
"""Bytes touched beforehand: several times the largest array."""

HASHED = {"uuid-v3": "md5", "percona-week": "md5", "uuid-v5": "sha1", "uuid-v8-name": "sha256"}
"""Hash function of layouts whose keys are digests; their target is the rate of `openssl speed`."""

_TARGETS = (
    (("uuid-v4",), 0.5),
    (("rt-comb", "jhtodd", "efcore", "morris", "hotguid", "dotnet-v7"), 0.3),
)
_EXACTLY = {"uuid-v7": 0.3}
"""Targets of a single layout; those above are for all names that begin so."""

_OTHERS, _HASHES, _TEXT = 0.1, 0.8, 0.035
_SINGLE_FACTOR = 15.0
_COPY = "memcpy into a new array"
_HASHED_BYTES = 32
"""A namespace and a short name."""


def compare(rows: int, repetitions: int) -> Iterator[str]:  # noqa: ARG001 (keys are too cheap for that)
    """The lines of this part of the report."""
    yield f"\nKeys a second on one core: {KEYS:,} at once (text, hashes: {FEWER:,}), medians of {repetitions}"
    warm = "touched before" if memory.keep(_KEPT) else "fresh from the system: no glibc here to keep it"
    yield f"  clock readings lie ready; each take is a new array, and so is the copy; memory is {warm}"
    mode = "GCM" if galois_is_faster() else "CTR"
    yield f"  keystream of {backend.openssl_version_text()} by {mode}; loops compiled by numba {version('numba')}"
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
    hashes = {name: _openssl(name) for name in sorted(set(HASHED.values()))}
    wide = {layout.name: layout.kind == "uuid" for layout in known}
    for name, seconds in times.items():
        yield _line(name, median(seconds), memcpy, hashes, wide.get(name, False))
    for name, seconds in one_by_one.items():
        yield f"  {name:<32} {1e9 * median(seconds):7.0f} ns, called one by one"
    factor = median(one_by_one["uuid_utils.uuid4()"]) / median(times["uuid-v4"])
    yield f"  uuid-v4 in bulk ÷ uuid_utils.uuid4() one by one: {factor:.1f} ×   {_met(factor, _SINGLE_FACTOR)}"
    single = median(one_by_one["uuid.uuid4()"]) / median(one_by_one['new("uuid-v7")'])
    yield f'  new("uuid-v7") ÷ uuid.uuid4(): {single:.1f} ×   {_met(single, 1.0)}'


def _met(value: float, target: float) -> str:
    return f"target ≥ {target:g}: {'met' if value >= target else 'NOT met'}"


def _line(name: str, seconds: float, memcpy: float, hashes: dict[str, float | None], wide: bool) -> str:
    line = f"  {name:<32} {1e-6 / seconds:7.1f} M/s  {1e9 * seconds:7.1f} ns   {memcpy / seconds:6.3f} × memcpy"
    if name in HASHED:
        digest = hashes[HASHED[name]]
        if digest is None:
            return f"{line}   no openssl here to compare with"
        return f"{line}   {digest / seconds:.2f} × openssl {HASHED[name]}   {_met(digest / seconds, _HASHES)}"
    target = _TEXT if name.startswith("text") else _target(name) if wide else None
    return line if target is None else f"{line}   {_met(memcpy / seconds, target)}"


def _target(name: str) -> float:
    if name in _EXACTLY:
        return _EXACTLY[name]
    return next((target for starts, target in _TARGETS if name.startswith(starts)), _OTHERS)


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
    n = FEWER if layout.kind == "text" or layout.name in HASHED else KEYS

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


def _openssl(digest: str) -> float | None:
    """Seconds for a digest of a short message, measured by `openssl speed`; None without openssl."""
    if shutil.which("openssl") is None:
        return None
    command = ["openssl", "speed", "-mr", "-seconds", "1", "-bytes", str(_HASHED_BYTES), "-evp", digest]
    said = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    (rate,) = [float(line.split(":")[3]) for line in said.splitlines() if line.startswith("+F:")]
    return _HASHED_BYTES / rate
