"""One key a call in compiled code: the bytes that the layout's stream makes of the same readings and random bytes."""

import numpy as np
import pytest

from keybench.errors import UsageError
from keybench.generators.core.clock import TICKS_PER_DAY, UNIX_EPOCH, VirtualClock
from keybench.generators.core.entropy import AesEntropy, Entropy
from keybench.generators.core.layout import Layout, layout, layouts
from keybench.generators.core.one_call import AHEAD, OneByOne
from keybench.generators.core.process import Process
from keybench.model.keys import Bytes

WRITTEN = [made for name, made in layouts().items() if name == made.name and made.one_call()]
CLAIMED = {"uuid-v4", "efcore-sequential", "morris", "jhtodd-end", "dotnet-v7", "buvinghausen-v7"}
ROWS = AHEAD + 900


class LeadingBytes(Entropy):
    """Of every 16 bytes of a source, the first `width`; before them, what a new stream draws of another source."""

    def __init__(self, first: Entropy, rest: Entropy, width: int) -> None:
        self._first, self._rest, self._width, self.starting = first, rest, width, True

    def take(self, n: int, width: int) -> Bytes:
        if self.starting:
            return self._first.take(n, width)
        assert width == self._width, "the rule asks for as many random bytes as the stream"
        return self._rest.take(n, 16)[:, :width].copy()

    def partition(self, i: int, *, of: int) -> Entropy:
        raise NotImplementedError


def readings(made: Layout) -> np.ndarray:
    """Ticks of some days, with repeated ones, ties within the millisecond, and steps back."""
    draw = np.random.default_rng(5)
    ticks = UNIX_EPOCH + 20_000 * TICKS_PER_DAY + np.cumsum(draw.integers(0, 60_000, ROWS))
    ticks[::7] -= draw.integers(0, 50_000, len(ticks[::7]))
    ticks[1::11] = ticks[::11][: len(ticks[1::11])]
    return ticks


def test_the_layouts_of_the_claims_have_a_rule() -> None:
    assert {made.name for made in WRITTEN} >= CLAIMED


@pytest.mark.parametrize("made", WRITTEN, ids=lambda made: made.name)
def test_they_are_the_keys_of_the_stream(made: Layout) -> None:
    call, ticks, process = made.one_call(), readings(made), Process("host", 4242, shard=9)
    assert call is not None
    entropy = LeadingBytes(
        AesEntropy.seeded("start"), AesEntropy.seeded("keys"), 16 if call.base_guid else call.random_bytes
    )
    stream = made.stream(process, VirtualClock(ticks), entropy)
    entropy.starting = False
    first = made.stream(process, VirtualClock(ticks), AesEntropy.seeded("start"))
    single = OneByOne(made, first, ticks, AesEntropy.seeded("keys"), "ahead")
    expected = stream.take(ROWS)
    # In two takes, whose random bytes begin at a multiple of AHEAD.
    found = [single.take(AHEAD), single.take(ROWS - AHEAD)]
    assert found[0].kind == expected.kind
    assert np.array_equal(np.concatenate([part.data for part in found]), expected.data)


@pytest.mark.parametrize("source", ["system", "plain"])
def test_each_call_has_random_bytes_of_its_own(source) -> None:
    made = layout("uuid-v4")
    first = made.stream(Process("host", 1), VirtualClock([0]), AesEntropy.seeded("x"))
    keys = OneByOne(made, first, np.zeros(ROWS, np.int64), AesEntropy.seeded("x"), source).take(ROWS)
    assert len(np.unique(keys.data, axis=0)) == ROWS
    ones = np.unpackbits(keys.data, axis=1).mean(axis=0)
    fixed = [*range(48, 52), 64, 65]
    assert ones[fixed].tolist() == [0, 1, 0, 0, 1, 0]
    assert np.abs(np.delete(ones, fixed) - 0.5).max() < 6 * 0.5 / ROWS**0.5


def test_a_layout_without_a_rule_is_refused() -> None:
    made = layout("ksuid")
    first = made.stream(Process("host", 1), VirtualClock([UNIX_EPOCH]), AesEntropy.seeded("x"))
    with pytest.raises(UsageError) as refused:
        OneByOne(made, first, np.zeros(1, np.int64), AesEntropy.seeded("x"), "plain")
    assert str(refused.value) == ("how to make one ksuid key in compiled code is not written: leave the layout out.")
