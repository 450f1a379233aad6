"""NewId (Chris Patterson; part of MassTransit): ticks, a worker, and a 16-bit sequence, in three forms.

Byte maps (T the 64-bit tick since 0001-01-01, most significant byte first; w0 … w5 the worker; S the sequence, its high
byte S1 and low byte S0):

newid                  r0 r1 w4 w5   r2 S0   r3 S1   r4 r5 w2 w3   r6 r7 w0 w1   r8 r9 T6 T7   r10 … r15 T0 … T5
newid-sequential       r0 … r7 T0 … T7   r8 … r13 w0 … w5   r14 S0   r15 S1
newid-to-sequential    r0 … r7 T0 … T7   r8 … r13 w0 … w5   r14 S1   r15 S0

newid is `NextGuid()`, also `Next().ToGuid()`, for SQL Server. newid-sequential is `NextSequentialGuid()` and
newid-to-sequential is `Next().ToSequentialGuid()`, both for RFC order.

Rule: a reading above the last tick starts a new tick with sequence 0. Otherwise the sequence goes up by one; after
65,535 keys (0 … 65,534) of one tick the next tick starts, ahead of the clock. While the clock is behind, the last tick
stays.

Quirks, kept: `NextSequentialGuid` swaps the sequence's bytes, which only SQL Server's order needs: RFC order breaks
every 256 keys of one tick. By default nothing in a key differs between two processes of one machine, so they can make
equal keys. The `-process` layouts have a process id provider: the process id's two low bytes, least significant first,
replace w4 and w5.

NewId's worker is the first network card's address. Here it is what NewId uses where there is no card: bytes 12 … 17 of
SHA-1(machine name) with the top bit set, unless `worker` gives six bytes. Nothing is random, and no version or variant
is set. NewId's readers are `NewId.FromGuid` and `FromSequentialGuid`.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, Literal

import numpy as np

from keybench.generators.core.bits import mssql_sequence, put_word, swap_u16
from keybench.generators.core.clock import Ticks
from keybench.generators.core.counters import positions_in_run, running_maximum
from keybench.generators.core.description import Ascent, Timestamp, timed
from keybench.generators.core.stream import GuidStream, Writer, WriterLayout
from keybench.model.keys import Bytes, Order

Form = Literal["guid", "sequential", "to-sequential"]

PER_TICK: Final = 65_535
"""Keys of one tick; the next key starts the next tick."""

_LAST: Final = np.iinfo(np.int64).max - 1  # the last tick that still has a next one


class NewIds(GuidStream["NewId"]):
    """The keys of one generator."""

    def __init__(self, layout: NewId, writer: Writer) -> None:
        super().__init__(layout, writer)
        worker = layout.worker
        if worker is None:
            digest = hashlib.sha1(writer.process.machine.encode(), usedforsecurity=False).digest()[12:18]
            worker = bytes([digest[0] | 0x80]) + digest[1:]  # no network card's address has that bit
        if layout.with_process:
            worker = worker[:4] + (writer.process.pid & 0xFFFF).to_bytes(2, "little")
        self._worker = int.from_bytes(worker)
        w01, w23, w45 = (int.from_bytes(worker[start : start + 2]) for start in (0, 2, 4))
        self._worker_of_guid = w45 << 48 | w23 << 16 | w01  # r0 r1 w4 w5, r4 r5 w2 w3, r6 r7 w0 w1
        self._last = 0
        self._sequence = 0  # the next key's, if it has the last key's tick

    def fill(self, data: Bytes) -> None:
        """Puts the next keys into `data`. The clock raises UsageError for a reading before the year 1."""
        ticks, sequence = self._next(self.writer.readings(len(data)))
        swapped = swap_u16(sequence)  # S0 before S1
        if self.layout.form == "guid":
            # r2 S0, r3 S1 between the worker's bytes; r8 r9 T6 T7, r10 … r15 T0 … T5
            put_word(data, 0, swapped << np.uint64(32) | np.uint64(self._worker_of_guid))
            put_word(data, 1, mssql_sequence(ticks))
            return
        # r0 … r7 T0 … T7, r8 … r13 w0 … w5, then r14 S0, r15 S1 of the sequential form, r14 S1, r15 S0 of the other
        put_word(data, 0, ticks)
        end = swapped if self.layout.form == "sequential" else sequence
        put_word(data, 1, np.uint64(self._worker << 16) | end)

    def _next(self, ticks: Ticks) -> tuple[Ticks, np.ndarray[tuple[int], np.dtype[np.uint64]]]:
        """(the tick, the sequence) of each key; at most `PER_TICK` readings at once. The next call goes on from the
        last key."""
        room = PER_TICK - self._sequence  # keys that the last tick can still have
        # Only the tick of an earlier call can become full here, and only once: after it the next tick starts.
        if room < len(ticks):
            ticks = ticks.copy()
            np.maximum(ticks[room:], self._last + 1, out=ticks[room:])  # those beyond its room: the next tick at least
        key_ticks = running_maximum(ticks, self._last) if len(ticks) else ticks
        sequence = positions_in_run(key_ticks, self._last, self._sequence)
        if len(key_ticks):
            self._last, self._sequence = int(key_ticks[-1]), int(sequence[-1]) + 1
        return key_ticks, sequence.view(np.uint64)


@dataclass(frozen=True)
class NewId(WriterLayout):
    """One form, with or without a process id provider."""

    streams = NewIds
    form: Form = "guid"
    with_process: bool = False
    worker: bytes | None = None


_READ_DIAGRAMS: Final[Mapping[Form, str]] = {
    "guid": "e8 f8 L8 H8 c8 d8 a8 b8 U16 T48",
    "sequential": "T64 a8 b8 c8 d8 e8 f8 L8 H8",
    "to-sequential": "T64 a8 b8 c8 d8 e8 f8 H8 L8",
}
"""Where `decode` finds the worker's bytes a … f, the sequence's high and low byte, and in one form the tick's end U."""


def _layout(name: str, form: Form, order: Order, call: str, diagram: str, within: Ascent, *caveats: str) -> list[NewId]:
    """[the layout without a process id provider, the one with it]; `diagram` has the bits of the former."""
    legend = {"T": "ticks since 0001-01-01", "W": "worker", "L": "sequence, low byte", "H": "sequence, high byte"}
    warning = "two processes of one machine can make equal keys: run one process a machine, or use the -process layout"

    def layout(with_process: bool) -> NewId:
        """The layout without a process id provider, or with one."""
        # The process id replaces the worker's last 16 bits, which lie before L8 H8 where the worker is divided.
        process_diagram = diagram.replace("W48", "W32 P16").replace("W16 L8 H8", "P16 L8 H8")
        return NewId(
            name + ("-process" if with_process else ""),
            f"NewId {call}" + (" with a process id provider" if with_process else f": {_FIELDS}"),
            _SOURCE + (" with CurrentProcessIdProvider" if with_process else ""),
            order=order,
            form=form,
            with_process=with_process,
            description=timed(
                process_diagram if with_process else diagram,
                legend | ({"P": "process id, low byte, then high byte"} if with_process else {}),
                Timestamp("100 ns since 0001-01-01", 0, _LAST, 1, span=1 << 64),
                *caveats,
                *([] if with_process else [warning]),
                "more than 65,535 keys a tick run ahead of the clock",
                within=within,
                uniqueness="process" if with_process else "machine",
                reads={
                    "time": "TU",
                    "sequence": "HL",
                    **({"worker": "abcd", "pid": "fe"} if with_process else {"worker": "abcdef"}),  # f: high byte
                },
                read_diagram=_READ_DIAGRAMS[form],
            ),
        )

    return [layout(with_process=False), layout(with_process=True)]


_SOURCE: Final = "github.com/phatboyg/NewId NewIdGenerator"
_FIELDS: Final = "100 ns ticks, worker and sequence, nothing random"

LAYOUTS = (
    *_layout("masstransit-newid", "guid", "mssql", "NextGuid", "W16 L8 H8 W16 W16 T16 T48", "always"),
    *_layout(
        "masstransit-newid-sequential",
        "sequential",
        "rfc",
        "NextSequentialGuid",
        "T64 W48 L8 H8",
        "by time",
        "not sequential: order breaks every 256 keys of one tick; those of ToSequentialGuid ascend",
    ),
    *_layout(
        "masstransit-newid-to-sequential", "to-sequential", "rfc", "Next().ToSequentialGuid", "T64 W48 H8 L8", "always"
    ),
)
