"""One key at a time: `new("uuid-v7")`, for programs that use a layout and measure nothing.

Safe with threads (a layout has one source in a process), after a fork (a child starts sources of its own, with its
process id and entropy of its own) and when the clock steps back: where the clock keeps keys apart, the last reading
stands until the clock is there again. Entropy comes from the operating system (it keys an AES stream).

The sources are the only global state of this package.
"""

from __future__ import annotations

import os
import sys
import time
import uuid
from collections.abc import Callable
from dataclasses import replace
from threading import Lock
from typing import Final

import numpy as np

from keybench.errors import UsageError
from keybench.generators.core.clock import UNIX_EPOCH, Clock, SystemClock, Ticks
from keybench.generators.core.entropy import AesEntropy, Entropy
from keybench.generators.core.layout import Composer, Layout, layout
from keybench.generators.core.process import Process
from keybench.model.keys import Keys

Key = uuid.UUID | int | str | bytes
Source = Callable[[], Key]

AHEAD: Final = 256
"""Keys, or their random bits, made at once where the time of the call does not go into them."""

_sources: Final[dict[tuple[str, int | None], Source]] = {}
_inherited: Final[set[tuple[str, int | None]]] = set()
"""Numbers that the process which forked this one had been given."""
_starting = Lock()


def new(name: str, *, worker: int | None = None) -> Key:
    """A new key of that layout: uuid.UUID, int, str or bytes, by the layout's kind.

    `worker` is the number of this process, which layouts need that cannot tell processes apart by themselves; somebody
    must hand the numbers out so that no two processes have the same one. The other layouts do not look at it.
    Raises UsageError for an unknown name and where a worker number is missing, too large, or another process's.
    """
    try:
        source = _sources[name, worker]
    except KeyError:
        source = _started(name, worker)
    return source()


def _started(name: str, worker: int | None) -> Source:
    with _starting:
        if (name, worker) not in _sources:
            chosen = layout(name)
            process = _process(chosen, worker)
            _sources[name, worker] = source(chosen, process, SystemClock(), AesEntropy.system())
        return _sources[name, worker]


def _process(chosen: Layout, worker: int | None) -> Process:
    """This process as the layout is to see it; UsageError where it cannot be unique."""
    name, said, process = chosen.name, chosen.description, Process.current()
    if said.uniqueness == "plan":
        raise UsageError(
            f"{name} keys are made of row numbers or names that somebody plans, and a single key has none: let the "
            f"database number the rows, or take a layout that needs no plan, such as uuid-v7."
        )
    if said.uniqueness in {"random", "process"}:
        return process
    if worker is None:
        raise UsageError(
            f"nothing in {name} keys tells processes of one machine apart: give each process a number of its own, as "
            f"in new({name!r}, worker=0)."
        )
    most = said.worker_ids or sys.maxsize
    if not 0 <= worker < most:
        raise UsageError(f"worker {worker} does not fit {name} keys: choose one from 0 to {most - 1}.")
    if (name, worker) in _inherited:
        raise UsageError(
            f"worker {worker} of {name} is the number of the process that forked this one: give this one another."
        )
    if said.uniqueness == "machine":
        return replace(process, machine=f"{process.machine}/{worker}")
    return replace(process, index=worker, of=most)


def source(chosen: Layout, process: Process, clock: Clock, entropy: Entropy) -> Source:
    """A source of single keys over any clock and entropy. Safe with threads; not to be shared over a fork."""
    composer = chosen.composer()
    if composer is not None and type(clock) is SystemClock:
        return _composed(composer, entropy)
    if chosen.description.uniqueness != "random":
        clock = HeldClock(clock)
    stream = chosen.stream(process, clock, entropy)
    size = 1 if chosen.reads_clock == "each key" else AHEAD
    made: list[Key] = []
    lock = Lock()

    def key() -> Key:
        with lock:
            if not made:
                made.extend(reversed(objects(stream.take(size))))
            return made.pop()

    return key


def _composed(compose: Composer, entropy: Entropy) -> Source:
    """Keys made of a reading and random bits drawn ahead, without an array for each: as fast as uuid.uuid4()."""
    pool: list[int] = []
    lock = Lock()
    now = time.time_ns

    def drawn() -> int:
        with lock:
            halves = entropy.take(AHEAD, 16).view(">u8").tolist()
        numbers: list[int] = [high << 64 | low for high, low in halves]
        last = numbers.pop()
        pool.extend(numbers)
        return last

    def key() -> uuid.UUID:
        # A list's pop is one step that no other thread can divide: no number is used twice.
        try:
            random = pool.pop()
        except IndexError:
            random = drawn()
        return _uuid(compose(now(), random))

    return key


_blank = object.__new__
_set = object.__setattr__
_unknown: Final = uuid.SafeUUID.unknown


def _uuid(number: int) -> uuid.UUID:
    """The same as uuid.UUID(int=number), without its checks of the arguments."""
    made = _blank(uuid.UUID)
    _set(made, "int", number)
    _set(made, "is_safe", _unknown)
    return made


def objects(keys: Keys) -> list[Key]:
    """Keys as Python objects, for few of them: uuid.UUID, int, str or bytes."""
    if keys.kind == "int":
        return list(keys.data.tolist())
    rows = [row.tobytes() for row in keys.data]
    if keys.kind == "uuid":
        return [_uuid(int.from_bytes(row)) for row in rows]
    return [row.decode("ascii") for row in rows] if keys.kind == "text" else list(rows)


class HeldClock(Clock):
    """Another clock that never goes back: where that one does, its highest reading stands."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._highest = -(1 << 63)

    def read_fine(self, n: int) -> tuple[Ticks, Ticks]:
        """n readings, none below any before."""
        ticks, odd = self._clock.read_fine(n)
        # Nanoseconds since 1970 as one number, so that both parts stay together; int64 holds it until 2262.
        ns = np.maximum(np.maximum.accumulate((ticks - UNIX_EPOCH) * 100 + odd), self._highest)
        if n:
            self._highest = int(ns[-1])
        return ns // 100 + UNIX_EPOCH, ns % 100

    def now(self) -> int:
        """The clock's tick, or the highest reading."""
        return max(self._clock.now(), self._highest // 100 + UNIX_EPOCH)


def _forget() -> None:
    """In a forked child: nothing of the parent's sources may be used again."""
    global _starting
    _inherited.update(_sources)
    _sources.clear()
    _starting = Lock()


if sys.platform != "win32":
    os.register_at_fork(after_in_child=_forget)
