"""One key a call, in compiled code: what a generator costs that programs call once for each key.

Arrays of keys share the cost of a call, of a reading of the clock, and of a request for random bytes. Programs such as
.NET's do all three for each key, and what they publish is that cost. Here a loop calls the layout's rule (`OneCall`)
for each key, and reads the machine's clock and asks for random bytes where the original does:

- `system`: the operating system's random bytes, getentropy(2) in each call, as RNGCryptoServiceProvider asks Windows
- `plain`: the next numbers of xoroshiro128+ (Blackman and Vigna, 2018), a plain generator as System.Random is
- `ahead`: bytes of the stream's entropy that were drawn ahead for 4,096 keys, as a generator in the process's memory

The clock is read for its cost. The key holds the reading that it is given, so that its bytes repeat exactly. The loop
is compiled when it is first used, which takes about a second and is not timed.
"""

import ctypes
import sys
from functools import cache
from typing import Any, Final, Literal

import numba
import numpy as np

from keybench.errors import EnvironmentMissing, UsageError
from keybench.generators.core.clock import Ticks
from keybench.generators.core.entropy import Entropy
from keybench.generators.core.layout import Layout, Stream
from keybench.model.keys import Keys

Randomness = Literal["ahead", "system", "plain"]

AHEAD: Final = 4_096
"""Keys for which random bytes are drawn at once where they are drawn ahead."""

_CLOCK_REALTIME: Final = 0
_SYSTEM, _PLAIN = 1, 2
_BESIDE_VERSION, _VERSION_4 = np.uint64((1 << 64) - 1 ^ 0xF << 12), np.uint64(4 << 12)
_BELOW_VARIANT, _VARIANT = np.uint64((1 << 62) - 1), np.uint64(1 << 63)
_SEED: Final = (0x9E3779B97F4A7C15, 0xBF58476D1CE4E5B9)


class OneByOne(Stream):
    """A layout's keys, made by one call each.

    `first` is a stream of the layout that has made no key yet, and makes none; `ticks` are the clock readings of all
    keys that will be made. UsageError for a layout without a rule for one call.
    """

    def __init__(self, layout: Layout, first: Stream, ticks: Ticks, entropy: Entropy, source: Randomness) -> None:
        call = layout.one_call()
        if call is None:
            raise UsageError(
                f"how to make one {layout.name} key in compiled code is not written: leave the layout out."
            )
        self._kind, self._ticks, self._entropy, self._source = layout.kind, ticks, entropy, source
        state = [part & (1 << 64) - 1 for part in (*call.state(first), 0)]
        self._state = np.array(state, np.uint64).view(np.int64)
        self._pool = np.zeros((AHEAD, 2), np.uint64)
        self._plain = np.array(_SEED, np.uint64)
        self._width = 16 if call.base_guid else call.random_bytes
        self._loop = _loop(call.rule, self._width, call.base_guid, call.reads_clock)
        self._taken = 0
        self._run(np.empty((0, 2), np.uint64))  # compiles

    def take(self, n: int) -> Keys:
        """The next n keys."""
        halves = np.empty((n, 2), np.uint64)
        for start in range(0, n, AHEAD):
            self._run(halves[start : start + AHEAD])
        if self._kind == "int":
            return Keys(halves[:, 1].view(np.int64), "int")
        return Keys(halves.astype(">u8").view(np.uint8).reshape(n, 16), "uuid")

    def _run(self, halves: Any) -> None:
        if self._source == "ahead" and self._width and len(halves):
            random = self._pool[: len(halves)]
            self._entropy.fill(random.view(np.uint8))
            random[:] = random.view(">u8")
        source = {"ahead": 0, "system": _SYSTEM, "plain": _PLAIN}[self._source]
        first, self._taken = self._taken, self._taken + len(halves)
        self._loop(self._state, self._ticks[first : self._taken], self._pool, halves, source, self._plain)


@cache
def _loop(rule: Any, width: int, base_guid: bool, reads_clock: bool) -> Any:
    """The loop over calls of that rule, compiled. EnvironmentMissing where the C library has not what it calls.

    Row i of `pool` is the 16 random bytes of key i as two numbers, row i of `halves` the key as two numbers.
    """
    try:
        library = ctypes.CDLL(None)
        clock_gettime, getentropy = library.clock_gettime, library.getentropy
    except (AttributeError, TypeError, OSError):
        raise EnvironmentMissing(
            f"one key a call is measured with clock_gettime and getentropy, which {sys.platform} does not have: use "
            'Linux or macOS, or leave "single" out of the scenario\'s calls.'
        ) from None
    clock_gettime.argtypes, clock_gettime.restype = (ctypes.c_int, ctypes.c_size_t), ctypes.c_int
    getentropy.argtypes, getentropy.restype = (ctypes.c_size_t, ctypes.c_size_t), ctypes.c_int
    # Without a cache on disk: numba does not see when a rule that it compiled into the loop has changed.
    options: Any = {"nogil": True, "error_model": "numpy"}
    step = numba.njit(**options)(rule)

    def loop(state: Any, ticks: Any, pool: Any, halves: Any, source: int, plain: Any) -> None:
        moment = np.zeros(2, np.int64)
        at = moment.ctypes.data
        for i in range(len(ticks)):
            if reads_clock:
                clock_gettime(_CLOCK_REALTIME, at)
            if width > 0 and source == _SYSTEM:
                getentropy(pool[i].ctypes.data, width)
            if width > 0 and source == _PLAIN:
                for half in range(2):
                    a, b = plain[0], plain[1]
                    pool[i, half] = a + b
                    b ^= a
                    plain[0] = (a << np.uint64(24) | a >> np.uint64(40)) ^ b ^ (b << np.uint64(16))
                    plain[1] = b << np.uint64(37) | b >> np.uint64(27)
            first, last = pool[i, 0], pool[i, 1]
            if base_guid:
                first = first & _BESIDE_VERSION | _VERSION_4
                last = last & _BELOW_VARIANT | _VARIANT
            first, last = step(state, ticks[i], first, last)
            halves[i, 0], halves[i, 1] = np.uint64(first), np.uint64(last)

    return numba.njit(**options)(loop)
