"""Digests of many messages at once, against hashlib's."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from keybench.generators.core.loops import loading
from keybench.generators.core.loops.hashes import Messages, digests
from keybench.generators.rfc9562.name_based import decimal


@pytest.fixture(params=[False, True], ids=["numpy", "compiled"], scope="module", autouse=True)
def loops(request) -> Iterator[None]:
    """Many messages: with numpy, and with the kernels."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(loading, "_kernels", None)
        patch.setattr(loading, "_FEW", 0)
        if request.param:
            loading.load_kernels()
        yield


ALGORITHMS = ["md5", "sha1", "sha256"]


def expected(algorithm: str, texts: list[bytes]) -> list[bytes]:
    return [hashlib.new(algorithm, text).digest() for text in texts]


@pytest.mark.parametrize("algorithm", ALGORITHMS)
@pytest.mark.parametrize("copies", [1, 600])
@given(texts=st.lists(st.binary(max_size=130), max_size=12))
def test_any_message(algorithm, copies, texts) -> None:
    """Few messages go to hashlib, many are hashed side by side."""
    found = digests(algorithm, Messages.from_texts(texts * copies))
    assert [row.tobytes() for row in found[: len(texts)]] == expected(algorithm, texts)
    assert np.array_equal(found, np.tile(found[: len(texts)], (copies, 1)))


@pytest.mark.parametrize("algorithm", ALGORITHMS)
@pytest.mark.parametrize("length", [0, 1, 3, 4, 16, 51, 54, 55, 56, 63, 64, 119, 120])
def test_every_padding(algorithm, length) -> None:
    texts = [bytes([i % 251]) * length for i in range(600)]
    assert [row.tobytes() for row in digests(algorithm, Messages.from_texts(texts))] == expected(algorithm, texts)


@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_trailing_zeros_and_a_prefix_count(algorithm) -> None:
    texts = [b"", b"\0", b"a\0\0", b"\0" * 39] * 200
    found = digests(algorithm, Messages.from_texts(texts).with_prefix(b"0123456789abcdef"))
    assert [row.tobytes() for row in found] == expected(algorithm, [b"0123456789abcdef" + text for text in texts])


@given(numbers=st.lists(st.integers(0, 2**63 - 1), min_size=1, max_size=30))
def test_decimal_digits(numbers) -> None:
    messages = decimal(np.array(numbers, np.int64))
    texts = [row[:length].tobytes() for row, length in zip(messages.data, messages.lengths, strict=True)]
    assert texts == [b"%d" % number for number in numbers]
