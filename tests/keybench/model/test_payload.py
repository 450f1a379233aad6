"""The text beside the key."""

import subprocess
import sys
from typing import get_args

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from keybench.model.payload import Distribution, Payload, PayloadLengths

CYCLE = 4096


@pytest.mark.parametrize("width", [0, 1, 100, 1000])
def test_texts_and_rows_have_the_same_letters(width: int) -> None:
    payload = Payload(width)
    rows = payload.rows(0, CYCLE)
    assert rows.shape == (CYCLE, width)
    assert rows.dtype == np.uint8
    assert [row.tobytes().decode("ascii") for row in rows] == list(payload.texts)
    assert {len(text) for text in payload.texts} == {width}


def test_rows_are_letters_and_distinct_in_a_cycle() -> None:
    rows = Payload(100).rows(0, CYCLE)
    assert rows.min() == ord("a")
    assert rows.max() == ord("z")
    assert len(set(Payload(100).texts)) == CYCLE


@given(start=st.integers(0, 10**9), n=st.integers(0, 3 * CYCLE))
def test_a_row_depends_on_its_number_alone(start: int, n: int) -> None:
    payload = Payload(3)
    rows = payload.rows(start, n)
    assert rows.shape == (n, 3)
    assert (rows == payload.pool[(start + np.arange(n)) % CYCLE]).all()
    half = n // 2
    assert (np.concatenate([payload.rows(start, half), payload.rows(start + half, n - half)]) == rows).all()


MANY = np.arange(200_000)
FIRST = [124, 63, 119, 15, 55, 137, 43, 1]
"""Of rows 0 … 7 with seed 1 in block 1, as first released."""


def test_uniform_lengths_are_equally_frequent() -> None:
    counts = np.bincount(PayloadLengths(5, 14).of((1, 1), MANY))
    assert counts[:5].tolist() == [0] * 5
    assert len(counts) == 15
    assert (abs(counts[5:] - 20_000) < 5 * np.sqrt(20_000)).all()


def test_zipfian_lengths_are_as_frequent_as_ycsb_has_them() -> None:
    counts = np.bincount(PayloadLengths(1, 100, "zipfian").of((1, 1), MANY))[1:]
    shares = np.arange(1, 101) ** -0.99
    expected = len(MANY) * shares / shares.sum()
    assert (abs(counts - expected) < 5 * np.sqrt(expected)).all()


def test_the_length_of_a_numbered_text_follows_its_digits() -> None:
    rows = np.array([0, 9, 10, 99, 100, 9999, 10_000, 10**18])
    assert PayloadLengths(4, 7, "row-number").of((1, 1), rows).tolist() == [4, 4, 5, 5, 6, 7, 7, 7]
    assert PayloadLengths(0, 40, "row-number").of((9, 1), rows).tolist() == [0, 0, 1, 1, 2, 3, 4, 18]


@given(st.sampled_from(get_args(Distribution)), st.integers(0, 50), st.integers(1, 3000), st.integers(0, 1 << 70))
def test_a_length_depends_on_seed_and_row_alone(distribution: str, least: int, more: int, seed: int) -> None:
    lengths = PayloadLengths(least, least + more, distribution)  # type: ignore[arg-type]
    rows = np.array([7, 123_456, 3, 1 << 40])
    drawn = lengths.of((seed, 2), rows)
    assert drawn.dtype == np.int64
    assert (drawn >= least).all()
    assert (drawn <= least + more).all()
    assert [int(lengths.of((seed, 2), rows[i : i + 1])[0]) for i in range(4)] == drawn.tolist()


def test_other_seeds_and_blocks_draw_other_lengths() -> None:
    lengths = PayloadLengths(0, 1_000_000)
    drawn = [tuple(lengths.of(seed, np.arange(10)).tolist()) for seed in ((1, 1), (1, 2), (2, 1), (2,), (1,))]
    assert len(set(drawn)) == 5


def test_lengths_are_the_same_in_every_process() -> None:
    assert PayloadLengths(0, 200).of((1, 1), np.arange(8)).tolist() == FIRST
    code = (
        "import numpy; from keybench.model.payload import PayloadLengths; "
        "print(*PayloadLengths(0, 200).of((1, 1), numpy.arange(8)))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd="/")
    assert list(map(int, done.stdout.split())) == FIRST


@pytest.mark.parametrize(
    ("lengths", "mean"),
    [(PayloadLengths(0, 200), 100), (PayloadLengths(0, 3, "zipfian"), 1), (PayloadLengths(4, 7, "row-number"), 7),
     (PayloadLengths(9, 9), 9)],
)  # fmt: skip
def test_mean_lengths(lengths: PayloadLengths, mean: int) -> None:
    assert lengths.mean == mean


def test_texts_are_cut_to_their_lengths() -> None:
    lengths = np.array([0, 3, 20, 1, 7] * 2000)
    whole, cut = Payload(20), Payload(20, lengths=lengths)
    texts = cut.row_texts(4090, 5000)
    assert texts == [text[:n] for text, n in zip(whole.row_texts(4090, 5000), lengths[4090:9090].tolist(), strict=True)]
    rows = cut.rows(4090, 5000)
    assert [row.tobytes().rstrip(b"\0").decode() for row in rows] == texts
    with pytest.raises(TypeError, match=r"take row_texts$"):
        _ = cut.texts
    assert whole.row_texts(3, 5000)[4095] == whole.texts[2]
