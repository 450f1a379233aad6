"""Rows a second through the page models, relative to a stable sort of the same number of random 64-bit integers.

Ranks are made beforehand; ranking is timed separately. Memory is the growth of the peak of a separate process.
"""

import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from statistics import median

import numpy as np
from numpy.typing import NDArray

from benchmarks import pairs, streams
from benchmarks.fidelity import columns, real
from keybench.databases.contract.engine import Engine
from keybench.databases.registry import engines
from keybench.errors import UsageError
from keybench.model.byteorder import sort_words
from keybench.model.table import Table
from keybench.pagemodels.contract import PageModel, SizedByValue, predict
from keybench.pagemodels.ranking import ranked

ROWS = (1_000_000, 50_000_000)
_PAYLOAD = 100
_ORDERS = ("random", "increasing", "4 lagging by 0.5 %")
_TARGETS = {"random": 0.5, "increasing": 2.0}
_OTHER_TARGETS = {
    "mariadb": {"random": 0.3, "increasing": 0.8},
    "mysql": {"random": 0.3, "increasing": 0.8},
    "sqlite": {"random": 0.2, "increasing": 2.0},
}
"""Targets of engines whose leaves depend on their neighbours."""
_MEMORY_TARGET = 24.0
_SERVER_TARGET = 15
_RANKED = "ranking of 16-byte keys"


def compare(rows: int, repetitions: int) -> Iterator[str]:  # noqa: ARG001 (the targets fix the row counts)
    """The lines of this part of the report."""
    for n in ROWS:
        times = max(1, repetitions if n <= 1_000_000 else repetitions // 5)
        yield f"\nPage models: {n:,} rows, medians of {times}, beside np.sort(kind='stable') of {n:,} random integers"
        yield from _speed(n, times)
    yield f"\nPage models: memory beside the ranks, {ROWS[-1]:,} rows in random order, a process each"
    for name, on in engines().items():
        if (model := _model(on)) is not None and not isinstance(model, SizedByValue):
            done = subprocess.run(
                [sys.executable, "-m", "benchmarks.pagemodel", name, str(ROWS[-1])],
                capture_output=True, text=True, check=True,
            )  # fmt: skip
            bytes_a_row = float(done.stdout)
            met = "met" if bytes_a_row <= _MEMORY_TARGET else "NOT met"
            yield f"  {on.title:<12} {bytes_a_row:5.1f} bytes a row   target ≤ {_MEMORY_TARGET:g}: {met}"
    yield f"\nPage models: {ROWS[0]:,} rows, keys ranked too, beside the insertion of the same keys into a live server"
    for on in engines().values():
        for kind in on.servers:
            if not on.missing(kind):
                yield from _beside_server(on, kind, repetitions)


def _model(on: Engine) -> PageModel | SizedByValue | None:
    """The model for the usual GUID column, with a clustered key where the engine has that; None without a model."""
    try:
        return on.page_model(Table("benchmark", columns(on)[0], _PAYLOAD))
    except UsageError:
        return None


def _beside_server(on: Engine, kind: str, repetitions: int) -> Iterator[str]:
    """Loads a live server with profile `fast`, and compares its rate with the model's."""
    column, model = columns(on)[0], _model(on)
    if model is None:
        return
    provision = on.provision(kind, on.settings("fast", "default"))
    try:
        address = provision.start()
        for order in _ORDERS:
            keys = streams.keys(streams.STREAMS[order](ROWS[0]), column)
            seconds = median(_timed(partial(predict, model, column, keys)) for _ in range(repetitions))
            _, _, rate = real(on, address, Table("benchmark", column, _PAYLOAD), keys)
            ratio = ROWS[0] / seconds / rate
            yield (
                f"  {on.title:<12} {kind:<10} {order:<21} {rate / 1000:7.1f} thousand rows/s   model {ratio:5.0f} × its"
                f" rate   target ≥ {_SERVER_TARGET}: {'met' if ratio >= _SERVER_TARGET else 'NOT met'}"
            )
    finally:
        provision.stop()


def _speed(n: int, repetitions: int) -> Iterator[str]:
    values = np.random.Generator(np.random.PCG64(1)).integers(0, 1 << 63, n)
    words = sort_words(pairs.keys("uuid-v4", n), "rfc")
    ranks = {order: ranked(streams.STREAMS[order](n).astype(np.uint64)[:, None]) for order in _ORDERS}
    ways: dict[tuple[str, str], Callable[[], object]] = {("", _RANKED): lambda: ranked(words)}
    targets: dict[tuple[str, str], float] = {}
    for name, on in engines().items():
        if (model := _model(on)) is None:
            continue
        for order in _ORDERS:
            ways[on.title, order] = _inserting(model, ranks[order])
        targets |= {(on.title, order): value for order, value in _OTHER_TARGETS.get(name, _TARGETS).items()}
    for way in ways.values():
        if n <= ROWS[0]:
            way()  # compiles kernels, or loads them from the cache
    seconds_of: dict[tuple[str, str], list[float]] = {name: [] for name in ways}
    sorts = []
    for _ in range(repetitions):
        for measured, way in ways.items():
            sorts.append(_timed(lambda: np.sort(values, kind="stable")))
            seconds_of[measured].append(_timed(way))
    sort = median(sorts)
    yield f"  {'sort':<34} {1e9 * sort / n:7.1f} ns a row"
    for (title, what), seconds in seconds_of.items():
        ratio = sort / median(seconds)
        line = f"  {title or 'all':<12} {what:<21} {1e9 * median(seconds) / n:7.1f} ns a row   {ratio:6.2f} × sort"
        if target := targets.get((title, what)):
            line += f"   target ≥ {target:g}: {'met' if ratio >= target else 'NOT met'}"
        yield line


def _inserting(model: PageModel | SizedByValue, ranks: NDArray[np.int64]) -> Callable[[], object]:
    if isinstance(model, SizedByValue):
        raise TypeError("keys of one size have entries of one size")
    return lambda: model.insert(ranks)


def _timed(work: Callable[[], object]) -> float:
    begin = time.perf_counter()
    kept = work()
    seconds = time.perf_counter() - begin
    del kept
    return seconds


def main() -> None:
    """Prints by how many bytes a row the peak memory of this process grows while a model takes random ranks."""
    name, n = sys.argv[1], int(sys.argv[2])
    model = _model(engines()[name])
    if model is None or isinstance(model, SizedByValue):
        raise SystemExit(f"there is no page model of {name} with entries of one size")
    ranks = streams.random(n)
    model.insert(streams.random(1000))
    before = reset_peak()
    model.insert(ranks)
    print((peak_memory() - before) / n)


def reset_peak() -> int:
    """Makes the memory that this process uses now its peak (Linux); bytes."""
    Path("/proc/self/clear_refs").write_text("5", encoding="ascii")
    return peak_memory()


def peak_memory() -> int:
    """The most memory that this process has used since then; bytes."""
    (line,) = [line for line in Path("/proc/self/status").read_text().splitlines() if line.startswith("VmHWM")]
    return int(line.split()[1]) * 1024


if __name__ == "__main__":
    main()
