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
    return int(parts.ticks[0]) - UNIX_EPOCH


KNOWN = (
    ("date_from_comb", "018e5f3b-ff48-47cc-b5ba-d01c25cc63a7", "2024-03-21 04:19:11.304000"),
    ("date_from_comb_legacy", "91900186-2cc4-4502-9bf0-e25afe33db2d", "2002-01-10 23:40:35"),
    ("date_from_comb", "e677d21f-dbff-4000-8000-000000000000", "9999-12-31 23:59:59.999000"),
    ("date_from_comb", "e677d21f-dc00-4000-8000-000000000000", "None"),
    ("date_from_comb_legacy", "00000000-0001-4000-8000-000000000000", "1900-01-01 00:00:00.003333"),
    ("date_from_comb_legacy", "ffff018b-8200-4000-8000-000000000000", "2079-06-07 00:00:00"),
    ("date_from_comb_legacy", "ffff018b-8201-4000-8000-000000000000", "None"),
    ("date_from_comb_legacy", "ffffffff-ffff-4000-8000-000000000000", "None"),
)
"""Function, key, and the instant in UTC that it reads."""
