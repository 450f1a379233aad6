"""Compares two ways of doing one thing, interleaved, so that other load affects both; ratios of medians."""

import gc
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from statistics import median

import numpy as np

from keybench.databases.contract.roles import Admin, Session
from keybench.errors import VerificationError
from keybench.generators.core.clock import TICKS_PER_SECOND, UNIX_EPOCH, VirtualClock
from keybench.generators.core.entropy import AesEntropy
from keybench.generators.core.layout import Stream, layout
from keybench.model.keys import Keys
from keybench.model.table import Table
from keybench.runners.planning.key_sources import PROCESS

ROWS_PER_TX = 1000
PAYLOAD = 100

_BEGIN = UNIX_EPOCH + 1_767_225_600 * TICKS_PER_SECOND
_RATE = 1000


def stream(name: str, n: int) -> Stream:
    """A stream of n keys of a layout, its clock filled beforehand: 1,000 keys a second from 2026 on."""
    ticks = _BEGIN + np.arange(n, dtype=np.int64) * (TICKS_PER_SECOND // _RATE)
    return layout(name).stream(PROCESS, VirtualClock(ticks), AesEntropy.seeded("benchmarks", name))


def keys(name: str, n: int) -> Keys:
    """n keys of a layout."""
    return stream(name, n).take(n)


def send(session: Session, batches: Sequence[object]) -> tuple[float, float]:
    """Sends all batches as a writer does. Returns (seconds, share of them that this process used the processor)."""
    gc.collect()
    gc.freeze()
    gc.disable()
    try:
        cpu, begin = time.process_time(), time.perf_counter()
        for batch in batches:
            session.send(batch)
        seconds = time.perf_counter() - begin
        return seconds, (time.process_time() - cpu) / seconds
    finally:
        gc.enable()
        gc.unfreeze()


def require_rows(admin: Admin, table: Table, rows: int) -> None:
    """VerificationError unless the table has that many rows: a load that lost rows proves nothing."""
    held = sum(len(part) for part in admin.stored_keys(table))
    if held != rows:
        raise VerificationError(f"{table.name} holds {held:,} of {rows:,} rows: the comparison is void. Report this.")


@dataclass(frozen=True)
class Pair:
    """Seconds of ours and of the peer, by repetition."""

    ours: tuple[float, ...]
    peer: tuple[float, ...]

    @property
    def ratio(self) -> float:
        """Median of ours over median of the peer."""
        return median(self.ours) / median(self.peer)

    def line(self, title: str, target: float) -> str:
        """One line of the report."""
        ratios = sorted(ours / peer for ours, peer in zip(self.ours, self.peer, strict=True))
        return (
            f"  {title:<10} ours {median(self.ours):7.3f} s   peer {median(self.peer):7.3f} s   "
            f"ratio {self.ratio:.2f} (pairs {ratios[0]:.2f} … {ratios[-1]:.2f})   {met(self.ratio, target)}"
        )


def met(value: float, target: float, unit: str = "") -> str:
    """The target, and whether the figure meets it when rounded to two digits, as it is printed."""
    return f"target ≤ {target:g}{unit}: {'met' if round(value, 2) <= target else 'NOT met'}"


def interleave(repetitions: int, ours: Callable[[], float], peer: Callable[[], float]) -> Pair:
    """Runs both in turn, with the other one first in every second repetition."""
    times: tuple[list[float], list[float]] = ([], [])
    for repetition in range(repetitions):
        for which in (0, 1) if repetition % 2 == 0 else (1, 0):
            times[which].append((ours, peer)[which]())
    return Pair(tuple(times[0]), tuple(times[1]))
