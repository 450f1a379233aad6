"""UUIDNext's UUIDv8 for SQL Server against its monotonicity handler, written out one key at a time."""

from uuid import UUID

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from keybench.errors import UsageError
from keybench.generators.core.clock import TICKS_PER_MS, UNIX_EPOCH
from keybench.generators.core.entropy import AesEntropy
from keybench.generators.core.layout import layout
from tests.errors import raised
from tests.generators.scripted import ScriptedEntropy

NAME = "uuidnext-v8-sqlserver"
MS = 1_645_557_742_000
LAST = UNIX_EPOCH + (TICKS_PER_MS << 48) - 1


class Handler:
    """`MonotonicityHandler` and the generator over it, as published."""

    def __init__(self, entropy: AesEntropy) -> None:
        self.entropy = entropy
        self.last = self.offset = self.sequence = 0

    def step(self, timestamp: int) -> int:
        shifted = timestamp + self.offset
        if shifted < self.last:
            self.offset = self.last - timestamp
            shifted = self.last
        elif self.offset > 0 and timestamp > self.last:
            self.offset = 0
            shifted = timestamp
        if shifted == self.last:
            self.sequence += 1
        else:
            self.last = shifted
            self.sequence = int.from_bytes(self.entropy.take(1, 2).tobytes()) & 0x1FFF
        return shifted

    def next(self, timestamp: int) -> bytes:
        used = self.step(timestamp)
        if self.sequence > 16_383:
            used = self.step(timestamp + 1)
        guid = bytearray(self.entropy.take(1, 8).tobytes())
        guid[6] = guid[6] & 0x0F | 0x80
        return bytes(guid) + (0x8000 | self.sequence).to_bytes(2) + used.to_bytes(6)


def check(milliseconds: np.ndarray, opened, cuts: list[int]) -> None:
    """The stream, cut anywhere, makes the keys that the handler makes from the same bytes."""
    stream = opened(NAME, UNIX_EPOCH + milliseconds * TICKS_PER_MS, entropy=AesEntropy.seeded("uuidnext"))
    handler = Handler(AesEntropy.seeded("uuidnext"))
    made = b"".join(stream.take(n).data.tobytes() for n in [*cuts, len(milliseconds) - sum(cuts)])
    assert made == b"".join(handler.next(int(now)) for now in milliseconds)


def test_uuidnext_vectors(vectors, opened) -> None:
    for vector in vectors("uuidnext_v8_sqlserver"):
        inputs = vector["inputs"]
        seed = min(inputs["sequence14"], 0x1FFF)
        before = inputs["sequence14"] - seed
        ticks = np.full(before + 1, UNIX_EPOCH + inputs["unix_ms"] * TICKS_PER_MS)
        script = seed.to_bytes(2) + bytes(8 * before) + bytes.fromhex(inputs["random8"])
        stream = opened(NAME, ticks, entropy=ScriptedEntropy(script))
        stream.take(before)
        keys = stream.take(1)
        assert str(UUID(bytes=keys.data[0].tobytes())) == vector["guid"]
        decoded = layout(NAME).decode(keys)
        assert decoded.ticks == ticks[0]
        assert decoded.fields["sequence"] == inputs["sequence14"]


@given(
    steps=st.lists(st.sampled_from([0, 0, 0, 1, 2, 50, -1, -3, -60]), min_size=1, max_size=80), cut=st.integers(0, 80)
)
def test_uuidnext_equals_the_handler_whatever_the_clock_does(steps, cut, opened) -> None:
    check(MS + np.cumsum(steps), opened, [min(cut, len(steps))])


@pytest.mark.parametrize("back", [0, 5])
def test_uuidnext_equals_the_handler_where_the_sequence_overflows(back, opened) -> None:
    """Forty thousand keys in one millisecond, then later readings, also after a step back."""
    steps = np.zeros(42_000, np.int64)
    steps[100] = -back
    steps[40_000] = 2
    steps[41_000] = 9
    check(MS + np.cumsum(steps), opened, [1, 16_000, 7])


def test_a_sequence_that_overflows_in_the_last_millisecond_is_refused(opened) -> None:
    stream = opened(NAME, np.full(20_000, LAST))
    assert raised(UsageError, stream.take, 20_000) == (
        f"{NAME} keys end with 10889-08-02T05:31:50.6559999Z, and those made faster than the clock ticks have "
        "passed it: set the clock inside that range."
    )
