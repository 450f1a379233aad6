"""The keystream: CTR and GCM give the same bytes, from any position, in any cut."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes
from hypothesis import given, settings
from hypothesis import strategies as st

from keybench.generators.core.entropy import keystream
from keybench.generators.core.entropy.keystream import PIECE, SEGMENT, Keystream

KEY = bytes(range(16))
SIZES = st.lists(st.sampled_from([1, 7, 31, 32, 33, 4096, PIECE - 1, PIECE, PIECE + 1, 2 * PIECE + 40]), max_size=5)


@pytest.fixture(params=[False, True], ids=["ctr", "gcm"], scope="module")
def faster(request) -> Iterator[bool]:
    """Both results of measuring which way is faster."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(keystream, "galois_is_faster", lambda: request.param)
        yield request.param


def block_cipher(position: int, size: int) -> bytes:
    """The keystream as AES encrypts the counters."""
    first, last = position // 16, (position + size) // 16
    counters = b"".join(counter.to_bytes(16, "big") for counter in range(first, last + 1))
    made = Cipher(algorithms.AES(KEY), modes.ECB()).encryptor().update(counters)
    return made[position % 16 :][:size]


def drawn(stream: Keystream, sizes: list[int]) -> bytes:
    parts = [bytearray(size) for size in sizes]
    for part in parts:
        stream.fill(memoryview(part))
    return b"".join(parts)


@pytest.mark.parametrize("position", [0, 1, 31, 32, 33, 1 << 20, (1 << 20) + 32, 5 << 30])
@pytest.mark.parametrize("segment", [0, 1, 1 << 40])
@settings(max_examples=3)
@given(sizes=SIZES)
def test_any_position_and_any_cut(position, segment, faster, sizes) -> None:
    start = segment * SEGMENT + position
    stream = Keystream(KEY, start)
    assert drawn(stream, sizes) == block_cipher(start, sum(sizes))
    assert stream.position == start + sum(sizes)


@pytest.mark.parametrize("before", [1, 16, 40, PIECE, PIECE + 1])
def test_across_the_end_of_a_segment(before, faster) -> None:
    sizes = [before // 2, PIECE, PIECE, 5, PIECE]
    start = SEGMENT - before
    assert drawn(Keystream(KEY, start), sizes) == block_cipher(start, sum(sizes))


def test_long_requests_use_the_faster_way(monkeypatch) -> None:
    made = []
    monkeypatch.setattr(keystream, "galois_is_faster", lambda: True)
    monkeypatch.setattr(Keystream, "_galois", lambda self, *place: made.append(place) or self._counting())
    drawn(Keystream(KEY), [4, 1000])
    assert not made, "not for short requests"
    drawn(Keystream(KEY), [4, PIECE, PIECE])
    assert made == [(0, 0)], "the first bytes of a segment are not GCM's to make; then it goes on"
    drawn(Keystream(KEY, SEGMENT + (1 << 19)), [PIECE])
    assert made[1:] == [(1, (1 << 19) - 32)]
    drawn(Keystream(KEY, SEGMENT // 2), [PIECE])
    assert len(made) == 2, "not far behind the beginning of a segment"


def test_the_faster_way_is_measured_once() -> None:
    assert keystream.galois_is_faster() is keystream.galois_is_faster()


@pytest.mark.long
def test_a_whole_segment_by_gcm_and_what_follows(monkeypatch) -> None:
    monkeypatch.setattr(keystream, "galois_is_faster", lambda: True)
    stream, room = Keystream(KEY), memoryview(bytearray(1 << 24))
    for _ in range(SEGMENT // len(room)):
        stream.fill(room)
    assert room == block_cipher(SEGMENT - len(room), len(room))
    stream.fill(room)
    assert room == block_cipher(SEGMENT, len(room))
    assert stream.position == SEGMENT + len(room)
