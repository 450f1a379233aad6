"""For programs that use a layout and measure nothing: `new("uuid-v7")`, `timestamp`, `extract_shard`.

`new` is safe with threads (a process has one locked source for each layout), after a fork (a child starts new sources,
with its own process id and entropy), and when the clock steps back: layouts that are unique by their time see the
highest reading until the clock has passed it. The operating system gives the key of the AES entropy.

The sources are the only global state of this package.
"""

import os
import sys
import uuid
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from datetime import datetime
from threading import Lock
from typing import Final

import numpy as np

from keybench.errors import UsageError
from keybench.generators.core.clock import Clock, SystemClock, Ticks, as_datetime
from keybench.generators.core.counters import running_maximum
from keybench.generators.core.entropy import AesEntropy, Entropy
from keybench.generators.core.layout import Layout, NothingToRead, Sharded, layout, layouts
from keybench.generators.core.process import Process
from keybench.model.keys import Bytes, Keys

Key = uuid.UUID | int | str | bytes
Source = Callable[[], Key]  # makes one new key a call

AHEAD: Final = 256
"""Keys made ahead, where they do not hold the time of the call."""

_sources: Final[dict[tuple[str, int | None], Source]] = {}  # by layout and worker number
_inherited_workers: Final[set[tuple[str, int | None]]] = set()
"""Layouts with the worker numbers that the process which forked this one had used."""
_start_lock = Lock()


def new(name: str, *, worker: int | None = None, shard: int | None = None) -> Key:
    """A new key of that layout: uuid.UUID, int, str or bytes, by the layout's kind.

    `worker` is the number of this process, for layouts whose keys are not unique without one; no two processes may have
    the same number. Other layouts ignore it. `shard` is the shard in this key, for layouts whose keys hold one; without
    it, it is 0. `extract_shard` reads it from the key.
    Raises UsageError for an unknown name, for a worker number that is missing, too large, or another process's, and for
    a shard that does not fit or that keys of the layout do not hold.
    """
    key = (_sources.get((name, worker)) or _source_of(name, worker))()  # a source makes one key a call
    if shard is None:
        return key
    sharded = _sharded(name)
    if shard.bit_length() > 63:  # no int64
        raise UsageError(f"shard {shard} does not fit {name} keys: choose a smaller one.")
    return objects(sharded.with_shards(_keys(key), np.array([shard], np.int64)))[0]


def extract_shard(key: uuid.UUID | str, name: str = "hotguid") -> int:
    """The shard in a key of that layout, such as `new(name, shard=7)` made. A key of another layout gives any number.
    Raises UsageError for an unknown name, for a layout whose keys hold no shard, and for a text that is no GUID."""
    sharded = _sharded(name)
    return int(sharded.shards(_keys(_guid(key)))[0])


def timestamp(key: Key, name: str) -> datetime:
    """The time in a key of that layout, in UTC, rounded down to the microsecond. GUIDs may also be text. Raises
    UsageError for an unknown name, for a key that is none of the layout, for layouts whose keys hold no time, and for
    years that datetime does not have."""
    key_layout, ticks = layout(name), None
    keys = _keys(_guid(key) if key_layout.kind == "uuid" and isinstance(key, str) else key)
    with suppress(NothingToRead):
        ticks = key_layout.decode(keys).ticks
    if ticks is None:
        raise UsageError(f"{key_layout.name} keys hold no time: name the layout that made the key.")
    return as_datetime(int(ticks[0]))


def _sharded(name: str) -> Sharded:
    """The layout of that name; UsageError if its keys hold no shard."""
    key_layout = layout(name)
    if isinstance(key_layout, Sharded):
        return key_layout
    names = ", ".join(sorted({each.name for each in layouts().values() if isinstance(each, Sharded)}))
    raise UsageError(f"{name} keys hold no shard: choose one of {names}.")


def _guid(key: uuid.UUID | str) -> uuid.UUID:
    """The GUID, also from text; UsageError for a text that is none."""
    try:
        return key if isinstance(key, uuid.UUID) else uuid.UUID(key)
    except ValueError:
        raise UsageError(f"{str(key)[:80]!r} is no GUID: a GUID has 32 hexadecimal digits.") from None


def _source_of(name: str, worker: int | None) -> Source:
    """The source for a layout and a worker number: a new one, unless another thread has started it meanwhile."""
    key_layout = layout(name)
    process = _process_for(key_layout, worker)
    with _start_lock:
        if (name, worker) not in _sources:
            _sources[name, worker] = source(key_layout, process, SystemClock(), AesEntropy.system())
        return _sources[name, worker]


def _process_for(key_layout: Layout, worker: int | None) -> Process:
    """This process with its worker number in the field in which the layout's keys hold it. UsageError if keys of this
    process would not be unique: without a number, with one that is too large or the parent process's, and for layouts
    that need a plan."""
    name, description, process = key_layout.name, key_layout.description, Process.current()
    if description.uniqueness == "plan":
        raise UsageError(
            f"{name} keys are made of row numbers or names from a plan, and a single key has none: let the "
            f"database number the rows, or use a layout that needs no plan, such as uuid-v7."
        )
    if description.uniqueness in {"random", "process"}:
        return process
    if worker is None:
        raise UsageError(
            f"{name} keys of two processes on one machine can be equal: give each process a number of its own, as "
            f"in new({name!r}, worker=0)."
        )
    worker_ids = description.worker_ids or sys.maxsize  # how many there are
    if not 0 <= worker < worker_ids:
        raise UsageError(f"worker {worker} does not fit {name} keys: choose one from 0 to {worker_ids - 1}.")
    if (name, worker) in _inherited_workers:
        raise UsageError(
            f"worker {worker} of {name} is the number of the process that forked this one: give this one another."
        )
    if description.uniqueness == "machine":
        return replace(process, machine=f"{process.machine}/{worker}")
    return replace(process, index=worker, of=worker_ids)


def source(key_layout: Layout, process: Process, clock: Clock, entropy: Entropy) -> Source:
    """A source of single keys with any clock and entropy. Safe with threads; a fork must not share it."""
    if key_layout.description.uniqueness != "random":
        clock = MonotonicClock(clock)  # else keys after a step back could equal earlier ones
    stream = key_layout.stream(process, clock, entropy)
    size = 1 if key_layout.reads_clock == "each key" else AHEAD
    ready: list[Key] = []  # the next key is the last of the list
    lock = Lock()

    def key() -> Key:
        with lock:
            if not ready:
                ready.extend(reversed(objects(stream.take(size))))
            return ready.pop()

    return key


def objects(keys: Keys) -> list[Key]:
    """A few keys as Python objects: uuid.UUID, int, str or bytes."""
    if keys.kind == "int":
        return list(keys.data.tolist())
    rows = [row.tobytes() for row in keys.data]
    if keys.kind == "uuid":
        return [uuid.UUID(bytes=row) for row in rows]
    if keys.kind == "text":
        return [row.decode("ascii") for row in rows]
    return list(rows)


def _keys(key: Key) -> Keys:
    """One key as an array: the reverse of `objects`. UsageError for an integer of more than 64 bits."""
    if isinstance(key, int):
        if not -(1 << 63) <= key < 1 << 63:
            raise UsageError(
                f"{key} has more than 64 bits, so it is no key of any layout: give the key as it was made."
            )
        return Keys(np.array([key], np.int64), "int")
    if isinstance(key, uuid.UUID):
        return Keys(_row(key.bytes), "uuid")
    if isinstance(key, str):  # a character that no layout has becomes `?`, which every layout refuses, too
        return Keys(_row(key.encode("ascii", "replace")), "text")
    return Keys(_row(key), "bytes")


def _row(data: bytes) -> Bytes:
    return np.frombuffer(data, np.uint8).reshape(1, -1)


class MonotonicClock(Clock):
    """A clock that never goes back: while the clock below it is behind, it shows the highest reading so far."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._highest = -(1 << 63)  # below every reading

    def read(self, n: int) -> Ticks:
        """n readings, none below any before."""
        ticks = running_maximum(self._clock.read(n), self._highest)
        self._highest = int(ticks[-1]) if n else self._highest
        return ticks

    def now(self) -> int:
        """The clock's tick, or the highest reading."""
        return max(self._clock.now(), self._highest)


def _forget_sources() -> None:
    """In a forked child: forgets the parent's sources, which must not be used again."""
    global _start_lock
    _inherited_workers.update(_sources)  # its keys: layouts and worker numbers
    _sources.clear()
    _start_lock = Lock()  # another thread of the parent may hold the old one


if sys.platform != "win32":
    os.register_at_fork(after_in_child=_forget_sources)
