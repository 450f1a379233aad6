"""Entropy: the keystream, positions, seeds, partitions."""

import pickle

import numpy as np
import pytest
from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes
from hypothesis import given
from hypothesis import strategies as st

from keybench.generators.core.entropy import AesEntropy, PlainEntropy, SystemEntropy
from tests.generators.scripted import ScriptedEntropy

SHAPES = st.lists(st.tuples(st.integers(0, 9), st.integers(1, 20)), max_size=6)


def block_cipher(key: bytes, blocks: int) -> bytes:
    """The keystream as AES encrypts the counters 0, 1, 2 …"""
    encryptor = Cipher(algorithms.AES(key), modes.ECB()).encryptor()
    return encryptor.update(b"".join(counter.to_bytes(16, "big") for counter in range(blocks)))


@given(position=st.integers(0, 100), shapes=SHAPES)
def test_any_position_and_any_cut_give_the_same_bytes(position, shapes) -> None:
    entropy = AesEntropy(bytes(16), position)
    taken = b"".join(entropy.take(n, width).tobytes() for n, width in shapes)
    assert taken == block_cipher(bytes(16), 100)[position : position + len(taken)]


@given(shapes=SHAPES, filled=st.lists(st.booleans(), min_size=6, max_size=6))
def test_filling_and_taking_give_the_same_bytes_in_turn(shapes, filled) -> None:
    for source in (AesEntropy(bytes(16), 5), PlainEntropy.seeded(1), ScriptedEntropy(bytes(range(256)) * 9)):
        whole = pickle.loads(pickle.dumps(source)).take(1, sum(n * width for n, width in shapes)).tobytes()
        parts = []
        for (n, width), fills in zip(shapes, filled, strict=False):
            part = np.full((n, width), 0xA5, np.uint8)
            if fills:
                source.fill(part)
            else:
                part = source.take(n, width)
            parts.append(part.tobytes())
        assert b"".join(parts) == whole


@pytest.mark.parametrize("rows", [(1 << 14) - 1, 1 << 14, (1 << 14) + 1, (1 << 15) + 3])
def test_long_arrays_are_filled_to_their_end_and_no_further(rows) -> None:
    room = np.full((rows + 2, 16), 0xA5, np.uint8)
    AesEntropy(bytes(16)).fill(room[1:-1])
    assert room[1:-1].tobytes() == block_cipher(bytes(16), rows)
    assert (room[[0, -1]] == 0xA5).all()


def test_only_contiguous_arrays_are_filled() -> None:
    entropy = AesEntropy(bytes(16))
    with pytest.raises(ValueError, match=r"^only contiguous arrays can be filled with a keystream$"):
        entropy.fill(np.zeros((4, 16), np.uint8)[:, :8])
    assert entropy.take(1, 16).tobytes() == block_cipher(bytes(16), 1), "a refused request uses up nothing"


def test_a_seed_repeats_in_every_release() -> None:
    assert AesEntropy.seeded(1, "postgresql").take(1, 16).tobytes().hex() == "064fba38d074fe84fcd0b6d716227b63"


def test_other_seeds_give_other_bytes() -> None:
    seeds = [(1,), (2,), ("1",), (1, 0), (1, "a"), ("a", 1), ()]
    assert len({AesEntropy.seeded(*seed).take(1, 16).tobytes() for seed in seeds}) == len(seeds)
    assert AesEntropy.seeded(1).take(1, 16).tobytes() == AesEntropy.seeded(1).take(1, 16).tobytes()


def test_partitions_differ_from_each_other_and_from_the_whole() -> None:
    whole = AesEntropy.seeded(3)
    parts = [whole.partition(i, of=4) for i in range(4)] + [whole.partition(0, of=1), whole.partition(0, of=5)]
    assert len({source.take(1, 16).tobytes() for source in (whole, *parts)}) == 7


def test_a_partition_does_not_depend_on_the_position_of_the_whole() -> None:
    fresh, used = AesEntropy.seeded(3), AesEntropy.seeded(3)
    used.take(100, 16)
    assert fresh.partition(2, of=4).take(1, 16).tobytes() == used.partition(2, of=4).take(1, 16).tobytes()


def test_a_plain_generator_is_pcg64_and_has_partitions() -> None:
    words = np.random.PCG64(5).random_raw(4)
    assert PlainEntropy(5).take(2, 16).tobytes() == words.astype("<u8").tobytes()
    one, two = (PlainEntropy(5).partition(i, of=2).take(1, 16).tobytes() for i in range(2))
    assert len({one, two, PlainEntropy(5).take(1, 16).tobytes()}) == 3
    copy = pickle.loads(pickle.dumps(entropy := PlainEntropy(5)))
    assert copy.take(1, 5).tobytes() == entropy.take(1, 5).tobytes()


def test_the_operating_systems_bytes_never_repeat_and_can_be_written_to() -> None:
    entropy = SystemEntropy()
    first, second = entropy.take(2, 16), entropy.partition(0, of=2).take(2, 16)
    assert first.shape == (2, 16)
    assert len({row.tobytes() for row in (*first, *second)}) == 4
    first[:] = 0
