"""The compiled loop that sends one request after another on a socket and waits for each answer.

It makes two or three system calls a request, `send`, perhaps `poll`, and `recv`, and no Python object. LLVM finds the C
library's functions by name, so the machine code can be cached.
"""

from typing import Any

import numba
import numpy as np
from numpy.typing import NDArray

from keybench.compiled import allocating, inlined, int64

ALL_SENT, PAUSED, NOT_SENT, NOT_RECEIVED, UNUSUAL = range(5)
"""How the loop ends: all is acknowledged; some time has passed; `send` or `recv` failed or was interrupted, or the
server closed the connection; the answer is not the usual one."""

NEXT, SENT, RECEIVED, SLOWEST = range(4)
"""What `state` holds: the request to send; how many of its bytes are sent, and of its answer received; a lower bound
of the row that the slowest writer has reached."""

_PAUSE_NS = 100_000_000  # the loop returns this often, so that Python's signal handlers run
_POLL_NS = 200_000  # how long a writer that is too far ahead sleeps before it looks again
_MONOTONIC = 1  # the clock that `time.perf_counter` reads (time.h)
_NO_SIGNAL = 0x4000  # MSG_NOSIGNAL: no SIGPIPE where the server is gone
_READABLE = 1  # POLLIN
_FOR_EVER = -1

_types: Any = numba.types
_size, _int = _types.intp, _types.int32
_send: Any = _types.ExternalFunction("send", _size(_int, _types.uintp, _size, _int))
_recv: Any = _types.ExternalFunction("recv", _size(_int, _types.uintp, _size, _int))
_poll: Any = _types.ExternalFunction("poll", _int(_types.uintp, _types.uintp, _int))
_clock: Any = _types.ExternalFunction("clock_gettime", _int(_int, _types.uintp))
_sleep: Any = _types.ExternalFunction("nanosleep", _int(_types.uintp, _types.uintp))


@inlined
def _now(moment: NDArray[np.int64]) -> int:
    """The time on the monotonic clock in nanoseconds. `moment` is room for a timespec: seconds and nanoseconds."""
    _clock(np.int32(_MONOTONIC), moment.ctypes.data)
    return int64(moment[0] * 1_000_000_000 + moment[1])


@inlined
def _slowest(reached: NDArray[np.int64]) -> int:
    """The lowest row number that any writer has reached."""
    least = reached[0]
    for row in reached:
        least = min(least, row)
    return int64(least)


@allocating
def exchange(
    descriptor: int,
    data: NDArray[np.uint8],
    begins: NDArray[np.int64],
    usual: NDArray[np.uint8],
    received: NDArray[np.uint8],
    state: NDArray[np.int64],
    writer: int,
    skew_rows: int,
    planned: NDArray[np.int64],
    sent: NDArray[np.int64],
    reached: NDArray[np.int64],
    times: NDArray[np.float64],
) -> int:
    """Sends the requests from `state[NEXT]` on. Returns how it ended (`ALL_SENT` …). The next call goes on there.

    `data[begins[i] : begins[i + 1]]` is request i. The answer `usual` means that one row is stored; the loop ends at
    any other. `received`, as long as `usual`, keeps what has come of an answer. The socket must be a blocking one.
    `planned[i]` is the row, in planned order, of request i, which waits while this row is more than `skew_rows` above
    the least of `reached`. `reached` and `sent` are shared by all writers; this one writes element `writer`. `times` is
    (3, n): when a request began and when its answer was there, in seconds, and the rows that the server acknowledged.
    """
    moment, nap = np.zeros(2, np.int64), np.array([0, _POLL_NS])
    polled = np.zeros(4, np.int16)  # poll's argument, a pollfd: the socket in 32 bits, what to wait for, and the answer
    polled.view(np.int32)[0], polled[2] = descriptor, _READABLE
    n, length, several = len(begins) - 1, len(usual), len(reached) > 1
    pause_at = _now(moment) + _PAUSE_NS
    while state[NEXT] < n:
        request = state[NEXT]
        # 1. Wait for slower writers, unless the request is partly sent. (`SLOWEST` may be out of date, but only low.)
        if state[SENT] == 0:
            if several:
                reached[writer] = planned[request]
                if planned[request] - state[SLOWEST] > skew_rows:
                    state[SLOWEST] = _slowest(reached)
                if planned[request] - state[SLOWEST] > skew_rows:
                    _sleep(nap.ctypes.data, np.uint64(0))
                    if _now(moment) > pause_at:
                        return PAUSED
                    continue
            times[0, request] = _now(moment) * 1e-9
        # 2. Send it.
        begin, end = begins[request], begins[request + 1]
        while begin + state[SENT] < end:
            place = begin + state[SENT]
            count = _send(np.int32(descriptor), data.ctypes.data + np.uint64(place), end - place, np.int32(_NO_SIGNAL))
            if count < 0:
                return NOT_SENT
            state[SENT] += count
        # 3. Receive the answer, and compare each piece.
        while state[RECEIVED] < length:
            # A recv that waits on a Unix socket wakes twice: also when the server reads the request, which tells the
            # socket that it can be written again (unix_write_space in Linux's net/unix/af_unix.c). poll does not. That
            # leaves more of the processors to other writers; a single one is faster if it wakes twice.
            if several and _poll(polled.ctypes.data, np.uint64(1), np.int32(_FOR_EVER)) < 0:
                return NOT_RECEIVED
            place = state[RECEIVED]
            count = _recv(np.int32(descriptor), received.ctypes.data + np.uint64(place), length - place, np.int32(0))
            if count <= 0:
                return NOT_RECEIVED
            state[RECEIVED] += count
            for i in range(place, place + count):
                if received[i] != usual[i]:
                    return UNUSUAL
        # 4. It is acknowledged.
        now = _now(moment)
        times[1, request] = now * 1e-9
        times[2, request] = 1
        sent[writer] += 1
        state[NEXT], state[SENT], state[RECEIVED] = request + 1, 0, 0
        if now > pause_at:
            return PAUSED
    return ALL_SENT
