"""`keybench list make`: keys, one a line."""

import sys
from datetime import datetime
from typing import Final

import numpy as np

from keybench.errors import UsageError
from keybench.generators.core.clock import Clock, SystemClock, VirtualClock, ticks_of
from keybench.generators.core.entropy import AesEntropy
from keybench.generators.core.layout import layout
from keybench.generators.core.process import Process
from keybench.generators.core.single import objects
from keybench.model.byteorder import text36
from keybench.model.keys import Keys

_CHUNK: Final = 16_384


def print_keys(name: str, number: int, at: str, seed: int | None, worker: int) -> None:
    """Prints `number` keys of a layout, made at the instant `at` or at the system's time; UsageError for bad input."""
    known = layout(name)
    worker_ids = known.description.worker_ids
    if worker_ids is not None and worker >= worker_ids:
        raise UsageError(f"worker {worker} does not fit {name} keys: choose one from 0 to {worker_ids - 1}.")
    clock: Clock = VirtualClock(np.full(number, _instant(at))) if at else SystemClock()
    entropy = AesEntropy.system() if seed is None else AesEntropy.seeded(seed)
    here = Process.current()
    process = Process(here.machine, here.pid, index=worker, of=max(worker + 1, worker_ids or 1))
    stream = known.stream(process, clock, entropy)
    for start in range(0, number, _CHUNK):
        _write(stream.take(min(_CHUNK, number - start)))


def key_text(keys: Keys) -> str:
    """A key as text: a GUID, a number, hexadecimal digits, or itself."""
    (key,) = objects(keys)
    return key.hex() if isinstance(key, bytes) else str(key)


def _instant(text: str) -> int:
    try:
        return ticks_of(datetime.fromisoformat(text))
    except ValueError as error:
        raise UsageError(f"{error}. A time is written as 2024-03-21T04:19:11.304Z.") from None


def _write(keys: Keys) -> None:
    if keys.kind == "uuid":
        lines = np.full((len(keys), 37), ord("\n"), np.uint8)
        lines[:, :36] = text36(keys)
        sys.stdout.write(lines.tobytes().decode())
    else:
        sys.stdout.writelines(f"{key.hex() if isinstance(key, bytes) else key}\n" for key in objects(keys))
