"""Indexes with a past in the page models: rows a second of each step, and memory.

Inserts into an index that was built, deleted from and cleaned are compared with inserts into an empty one, in the same
process, by turns, by processor time. Memory is the growth of the peak of a separate process over all steps, without the
ranks.
"""

import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from statistics import median

import numpy as np
from numpy.typing import NDArray

from benchmarks import streams
from benchmarks.fidelity import columns
from benchmarks.pagemodel import peak_memory, reset_peak
from keybench.databases.contract.engine import Engine
from keybench.databases.registry import engines
from keybench.errors import UsageError
from keybench.model.table import Table
from keybench.pagemodels.contract import IndexState, KeepsState

ROWS = (1_000_000, 20_000_000)
MEMORY_ROWS = 100_000_000
_INSERT_TARGET = 1.3
_RATE_TARGET = 20e6
_MEMORY_TARGET = 24.0
_SLOWER = frozenset({"mariadb", "mysql", "sqlite"})
"""Engines whose leaves depend on their neighbours: the target of deletes and builds is for the others."""


def compare(rows: int, repetitions: int) -> Iterator[str]:  # noqa: ARG001 (the targets fix the row counts)
    """The lines of this part of the report."""
    for n in ROWS:
        times = repetitions if n == ROWS[0] else min(repetitions, 3)
        yield f"\nIndexes with a past: {n:,} random rows in an index of as many, medians of {times}"
        for name, on in engines().items():
            if (model := _model(on)) is not None:
                yield from _speed(name, on, model, n, times)
    yield f"\nIndexes with a past: memory beside the ranks, {MEMORY_ROWS:,} rows, a process each"
    for name, on in engines().items():
        if _model(on) is not None:
            command = [sys.executable, "-m", "benchmarks.past", name, str(MEMORY_ROWS)]
            done = subprocess.run(command, capture_output=True, text=True, check=True)
            bytes_a_row = float(done.stdout)
            met = "met" if bytes_a_row <= _MEMORY_TARGET else "NOT met"
            yield f"  {on.title:<12} {bytes_a_row:5.1f} bytes a row   target ≤ {_MEMORY_TARGET:g}: {met}"


def _model(on: Engine) -> KeepsState | None:
    """The model of the usual GUID column; None if it keeps no state."""
    try:
        model = on.page_model(Table("benchmark", columns(on)[0], 100))
    except UsageError:
        return None
    return model if isinstance(model, KeepsState) else None


def _speed(name: str, on: Engine, model: KeepsState, n: int, times: int) -> Iterator[str]:
    order = streams.random(2 * n)
    old, new, gone = order[:n], order[n:], order[: n // 4]
    seconds: dict[str, list[float]] = {}

    def timed(what: str, work: Callable[[], object]) -> None:
        begin = time.process_time()
        work()
        seconds.setdefault(what, []).append(time.process_time() - begin)

    def timed_insert(empty: IndexState) -> None:
        timed("insert into an empty one", lambda: empty.insert(old))

    def history(state: IndexState) -> None:
        timed("build", lambda: state.build(old, on.default_fill))
        timed("delete", lambda: state.delete(gone))
        timed("clean", state.clean)
        timed("insert", lambda: state.insert(new))

    if n == ROWS[0]:
        _whole(model, order[: n // 8], 2 * n, on.default_fill)  # compiles kernels, or loads them from the cache
    for _ in range(times):
        timed_insert(model.state(2 * n))
        history(model.state(2 * n))
    of = {what: median(values) for what, values in seconds.items()}
    ratio = of["insert"] / of["insert into an empty one"]
    met = "met" if ratio <= _INSERT_TARGET else "NOT met"
    yield (
        f"  {on.title:<12} insert   {1e9 * of['insert'] / n:7.1f} ns a row   {ratio:5.2f} × into an empty one   "
        f"target ≤ {_INSERT_TARGET:g}: {met}"
    )
    for what, count in (("build", n), ("delete", n // 4), ("clean", n)):
        rate = count / of[what]
        line = f"  {on.title:<12} {what:<8} {1e9 * of[what] / count:7.1f} ns a row   {rate / 1e6:6.1f} million rows/s"
        if name not in _SLOWER:
            line += f"   target ≥ {_RATE_TARGET / 1e6:g}: {'met' if rate >= _RATE_TARGET else 'NOT met'}"
        yield line


def _whole(model: KeepsState, order: NDArray[np.int64], keys: int, fill: int) -> IndexState:
    """Every step, on an index of half of these rows."""
    state, half = model.state(keys), len(order) // 2
    state.build(order[:half], fill)
    state.delete(order[: half // 2])
    state.clean()
    state.insert(order[half:])
    state.rebuild(fill)
    return state


def main() -> None:
    """Prints by how many bytes a row the peak memory of this process grows over all steps."""
    name, n = sys.argv[1], int(sys.argv[2])
    on = engines()[name]
    model = _model(on)
    if model is None:
        raise SystemExit(f"the page model of {name} knows no index with a past")
    order = np.random.Generator(np.random.PCG64(1)).permutation(n)
    _whole(model, streams.random(1000), 1000, on.default_fill).stats()
    before = reset_peak()
    _whole(model, order, n, on.default_fill).stats()
    print((peak_memory() - before) / n)


if __name__ == "__main__":
    main()
