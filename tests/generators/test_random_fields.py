"""The random field of every layout: each bit is as often 1 as 0, and values repeat no more often than by chance.

What is random is what the layout's description says. The bounds are five standard deviations and more: a true field
fails one of them about once in a million runs, and the seed is fixed.
"""

import math

import numpy as np
import pytest

from keybench.generators.core.clock import TICKS_PER_SECOND, VirtualClock
from keybench.generators.core.entropy import AesEntropy
from keybench.generators.core.layout import layout, layouts
from keybench.generators.core.process import Process
from tests.parameters import first

START = 637_811_545_420_000_000
BITS = 50_000

RANDOM = sorted({known.name for known in layouts().values() if known.description.random_width})
TEXT = [name for name in RANDOM if layout(name).kind == "text"]
BINARY = [name for name in RANDOM if layout(name).kind != "text"]


def keys(name: str, n: int, *, per_second: int):
    """Keys made at this rate: no field may depend on how many keys share a quantum."""
    ticks = START + np.arange(n) * (TICKS_PER_SECOND // per_second)
    entropy = AesEntropy.seeded("random field", name)
    return layout(name).stream(Process("testhost", 74_565), VirtualClock(ticks), entropy).take(n)


def masked_words(name: str, n: int) -> np.ndarray:
    """The random bits of each key, all others 0: uint64 (n, words)."""
    made = keys(name, n, per_second=10_000)
    description = layout(name).description
    where = description.where(description.random)
    if made.kind == "int":
        return (made.data.view(np.uint64) & np.uint64(int("".join("01"[bit] for bit in where), 2)))[:, None]
    masks = np.packbits(where) if made.kind != "text" else where * np.uint8(255)
    padded = np.zeros((n, -(-made.data.shape[1] // 8) * 8), np.uint8)
    np.bitwise_and(made.data, masks, out=padded[:, : made.data.shape[1]])
    return padded.view(np.uint64)


def repeats(words: np.ndarray) -> int:
    """How many keys are equal to an earlier one."""
    # With all words mixed into one of 64 bits, keys repeat no more often by chance, and sort four times as fast.
    mixed = np.zeros(len(words), np.uint64)
    for column in words.T:
        mixed ^= column
        mixed *= np.uint64(0x9E3779B97F4A7C15)
        mixed ^= mixed >> np.uint64(29)
    mixed.sort()
    return int((mixed[1:] == mixed[:-1]).sum())


def allowed(n: int, bits: float) -> int:
    """The repeats allowed among n values of `bits` bits: the birthday expectation plus six standard deviations."""
    expected = n * (n - 1) / 2 / 2**bits
    return math.floor(expected + 6 * math.sqrt(expected) + 0.01)


def random_bits(name: str) -> float:
    """Bits of the field; for text, the entropy of its characters."""
    if layout(name).kind != "text":
        return layout(name).description.random_width
    per_character = {"cuid2": math.log2(26) + 23 * math.log2(36), "nanoid": 21 * 6, "ulid-text": 16 * 5}
    return per_character[name]


@pytest.mark.parametrize("name", BINARY)
@pytest.mark.parametrize("per_second", first(1, [1_000, 5_000_000]))
def test_each_bit_is_as_often_1_as_0(name, per_second) -> None:
    made = keys(name, BITS, per_second=per_second)
    data = made.data.astype(">i8").view(np.uint8).reshape(-1, 8) if made.kind == "int" else made.data
    bits = np.unpackbits(data, axis=1)[:, layout(name).description.where(layout(name).description.random)]
    deviation = np.abs(bits.mean(axis=0) - 0.5).max() * 2 * math.sqrt(BITS)
    assert deviation < 5.5


@pytest.mark.parametrize("name", BINARY)
def test_neighbouring_bits_and_keys_are_independent(name) -> None:
    """A field that repeats part of itself, or of the key before, would still have even bits."""
    made = keys(name, BITS, per_second=1_000)
    data = made.data.astype(">i8").view(np.uint8).reshape(-1, 8) if made.kind == "int" else made.data
    bits = np.unpackbits(data, axis=1)[:, layout(name).description.where(layout(name).description.random)]
    signs = bits.astype(np.float32) * 2 - 1
    within = signs.T @ signs / math.sqrt(BITS)
    np.fill_diagonal(within, 0)
    across = signs[1:].T @ signs[:-1] / math.sqrt(BITS)
    assert np.abs(within).max() < 6.5
    assert np.abs(across).max() < 6.5


@pytest.mark.parametrize("name", TEXT)
def test_each_character_is_as_frequent_as_any_other(name) -> None:
    random = keys(name, 20_000, per_second=1_000).data[
        :, layout(name).description.where(layout(name).description.random)
    ]
    for column in random.T:
        counts = np.bincount(column, minlength=128)
        counts = counts[counts > 0]
        mean = len(column) / len(counts)
        assert len(counts) in {26, 32, 36, 64}
        assert np.abs(counts - mean).max() < 6 * math.sqrt(mean)


@pytest.mark.parametrize("name", RANDOM)
def test_a_hundred_thousand_values_repeat_no_more_than_by_chance(name) -> None:
    assert repeats(masked_words(name, 100_000)) <= allowed(100_000, random_bits(name))


def test_the_bounds_would_catch_a_field_that_is_too_narrow() -> None:
    entropy = AesEntropy.seeded("narrow")
    narrow = entropy.take(100_000, 8).view(np.uint64) & np.uint64((1 << 26) - 1)
    assert repeats(narrow) <= allowed(100_000, 26)
    assert repeats(narrow) > allowed(100_000, 28)
    assert repeats(np.repeat(narrow[:10], 2, axis=0)) == 10
