"""The keys that layouts make of a GUID and an instant, for tests of SQL functions that make and read the same."""

import uuid

import numpy as np

from keybench.errors import UsageError
from keybench.generators.core.clock import UNIX_EPOCH, VirtualClock
from keybench.generators.core.entropy import AesEntropy
from keybench.generators.core.layout import layout
from keybench.generators.core.process import Process
from keybench.model.keys import Keys


def expected(name: str, base: uuid.UUID, ticks: int) -> uuid.UUID:
    """The layout's key of that GUID and instant, in ticks since 1970."""

    class OneGuid:
        def take(self, n: int) -> np.ndarray:
            assert n == 1
            return np.frombuffer(base.bytes, np.uint8).reshape(1, 16).copy()

    clock = VirtualClock(np.array([UNIX_EPOCH + ticks]))
    stream = layout(name).stream(Process.current(), clock, AesEntropy.seeded(1), guids=OneGuid())
    return uuid.UUID(bytes=stream.take(1).data.tobytes())


def decoded(name: str, key: uuid.UUID) -> int | None:
    """The instant that the layout reads, in ticks since 1970; None if it refuses the key."""
    try:
        parts = layout(name).decode(Keys(np.frombuffer(key.bytes, np.uint8).reshape(1, 16), "uuid"))
    except UsageError:
        return None
    assert parts.ticks is not None
    return int(parts.ticks[0]) - UNIX_EPOCH
