"""Transactions of one row: one request each, made in advance, and a compiled loop that sends them.

A session that `ExchangesRequests` gives the loop its socket, and the bytes with which the server answers when it has
stored a row. The loop compares. What is not these bytes, a failure for example, the session reads.
"""

import os
import socket
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple, Protocol, overload, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from keybench.databases.core.packing import PackedRows
from keybench.errors import ServerError

AVAILABLE = sys.platform == "linux"
"""Whether the loop's constants are this system's."""


@dataclass(frozen=True, eq=False)
class Requests(Sequence[memoryview]):
    """A request for each transaction, all in one buffer."""

    lines: PackedRows

    def __len__(self) -> int:
        return len(self.lines)

    @overload
    def __getitem__(self, which: int) -> memoryview: ...
    @overload
    def __getitem__(self, which: slice) -> Sequence[memoryview]: ...
    def __getitem__(self, which: int | slice) -> memoryview | Sequence[memoryview]:
        if isinstance(which, slice):
            return [self[i] for i in range(*which.indices(len(self)))]
        if not -len(self) <= which < len(self):
            raise IndexError(which)
        number = which % len(self)  # counts negative ones from the end
        return self.lines.part(number, number + 1)

    @cached_property
    def begins(self) -> NDArray[np.int64]:
        """(n + 1,): where each request begins in `lines.data`, and where the last one ends."""
        ends = self.lines.ends
        if ends is None:
            return np.arange(len(self) + 1, dtype=np.int64) * self.lines.width
        return np.concatenate([np.zeros(1, np.int64), ends.astype(np.int64, copy=False)])


class Pace(NamedTuple):
    """How far the writers of a load are, in memory that they share (`SharedMemoryBarrier`)."""

    writer: int
    """Number of the writer whose pace this is."""
    skew_rows: int
    """That writer waits while its next row is more than this number above the least of `reached`."""
    sent: NDArray[np.int64]
    """(writers,): the rows that each has sent."""
    reached: NDArray[np.int64]
    """(writers,): the row, in planned order, that each has reached."""


class UnusualAnswer:
    """An answer that is not the usual one, as far as it has come. `take` gets it piece by piece."""

    def __init__(self, wire: socket.socket, received: bytes, broken: OSError | None = None) -> None:
        """`received` is its beginning; `broken` is the error by which sending the request failed, if it did."""
        self.seen = b""  # what `take` has returned so far
        self._wire, self._received, self._broken = wire, received, broken

    def take(self, length: int) -> bytes:
        """The next `length` bytes. OSError if the connection ends before."""
        while len(self._received) < length:
            missing = length - len(self._received)
            if self._broken is None:
                part = self._wire.recv(missing)
            else:  # the server may have said why before it hung up; nothing comes after that, so do not wait
                try:
                    part = self._wire.recv(missing, socket.MSG_DONTWAIT)
                except OSError:
                    part = b""
            if not part:
                raise self._broken or ConnectionResetError("the server closed the connection")
            self._received += part
        part, self._received = self._received[:length], self._received[length:]
        self.seen += part
        return part


class Exchange:
    """The loop on one session's socket."""

    def __init__(self, descriptor: int, usual: bytes, read: Callable[[UnusualAnswer], int]) -> None:
        """`usual` is the server's answer to a request whose row it has stored. `read` takes any other answer, to its
        end, and returns the rows stored. It raises ServerError where the server refuses the row, and where the
        connection ends before (OSError from `UnusualAnswer.take`)."""
        from keybench.databases.core.exchange import loop  # imports numba, which few rows do not need

        self._loop = loop
        self._descriptor, self._read = descriptor, read
        self._usual = np.frombuffer(bytearray(usual), np.uint8)
        # One writer sends no request: this loads the loop, or compiles it.
        no_requests, nothing_sent = Requests(PackedRows(np.empty(0, np.uint8), 0)), np.zeros(1, np.int64)
        alone = Pace(writer=0, skew_rows=0, sent=nothing_sent, reached=nothing_sent)
        self.send(no_requests, nothing_sent, alone, times=np.zeros((3, 0)))

    def send(self, requests: Requests, planned: NDArray[np.int64], pace: Pace, times: NDArray[np.float64]) -> None:
        """Sends all requests, each when the one before is answered. `planned` is (n,): the row, in planned order, of
        each request. Fills `times`, (3, n): when each request began and when its answer was there, in seconds, and
        the rows that the server acknowledged. If this raises, `times` is right up to that request."""
        loop = self._loop
        state, received = np.zeros(4, np.int64), np.zeros_like(self._usual)
        writable = np.array(planned, np.int64)  # the loop is compiled for arrays that can be written
        with self._wire() as wire:
            while True:
                outcome = loop.exchange(
                    wire.fileno(), requests.lines.data, requests.begins, self._usual, received, state,
                    pace.writer, pace.skew_rows, writable, pace.sent, pace.reached, times,
                )  # fmt: skip
                if outcome == loop.ALL_SENT:
                    return
                if outcome == loop.PAUSED:  # for Python's signal handlers
                    continue
                # NOT_SENT, NOT_RECEIVED, UNUSUAL: the loop stopped in a request, whose rest is sent and read here.
                request = int(state[loop.NEXT])
                rest = requests[request][int(state[loop.SENT]) :]
                broken = _send_rest(wire, rest) if outcome == loop.NOT_SENT else None
                answer = UnusualAnswer(wire, received[: state[loop.RECEIVED]].tobytes(), broken)
                rows = self._read(answer)
                times[1:, request] = time.perf_counter(), rows
                pace.sent[pace.writer] += rows
                state[: loop.SLOWEST] = request + 1, 0, 0  # NEXT, SENT, RECEIVED
                if rows == 1:  # the next answer is probably like this one
                    self._usual = np.frombuffer(bytearray(answer.seen), np.uint8)
                    received = np.zeros_like(self._usual)

    @contextmanager
    def _wire(self) -> Iterator[socket.socket]:
        """The socket, which blocks inside. If this ends while an answer may still come, the driver loses its socket:
        else it would take that answer for another request's. (`shutdown` is not enough, because data that has arrived
        can still be read, and libpq reads after a failed write.)"""
        with socket.socket(fileno=os.dup(self._descriptor)) as wire:  # the driver may close its own meanwhile
            blocking = os.get_blocking(wire.fileno())
            os.set_blocking(wire.fileno(), True)
            try:
                yield wire
            except ServerError:  # the answer was read to its end
                raise
            except BaseException:
                _disconnect(self._descriptor)
                raise
            finally:
                os.set_blocking(wire.fileno(), blocking)


def _disconnect(descriptor: int) -> None:
    """Replaces the socket with this descriptor by one whose other end is closed."""
    ended, other_end = socket.socketpair()
    with ended:
        other_end.close()
        ended.setblocking(os.get_blocking(descriptor))
        os.dup2(ended.fileno(), descriptor, inheritable=False)


def _send_rest(wire: socket.socket, rest: memoryview) -> OSError | None:
    """Sends the rest of a request. Returns the system's error if the connection is broken, else None."""
    try:
        wire.sendall(rest)
    except OSError as error:
        return error
    return None


@runtime_checkable
class ExchangesRequests(Protocol):
    """A session that can send one-row transactions by an `Exchange`."""

    def exchange(self) -> Exchange | None:
        """The exchange for the batches that are `Requests`; None if the connection is encrypted, for example."""
        ...
