"""Samples of a load are whole ranges of keys, and each costs as much a row as the load."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest
from numpy.typing import NDArray

from benchmarks import streams
from keybench.databases.postgresql.engine import ENGINE
from keybench.model.table import Table
from keybench.pagemodels.costs.contract import Load, PredictsCost, Server
from keybench.pagemodels.costs.sampling import HALVES, draw
from keybench.pagemodels.ranking import ranked

N = 400_000


def chunks(ranks: NDArray[np.int64], step: int = 30_000) -> Iterator[tuple[NDArray[np.uint64], NDArray[np.int16]]]:
    """Keys of two words, the second of which decides; the writers are the key's last digits."""
    for first in range(0, len(ranks), step):
        own = ranks[first : first + step].astype(np.uint64)
        words = np.stack([own // np.uint64(1000) + np.uint64(1 << 63), own % np.uint64(1000)], axis=1)
        yield words, (own % np.uint64(4)).astype(np.int16)


@pytest.mark.parametrize("stream", ["random", "increasing", "4 lagging by 10 %"])
def test_a_sample_has_all_rows_of_some_ranges(stream: str) -> None:
    ranks = ranked(streams.STREAMS[stream](N).astype(np.uint64)[:, None])
    samples = draw(lambda: chunks(ranks), N, N // 4, 7)
    assert len(samples) == HALVES
    seen = [set(ranks[one.rows].tolist()) for one in samples]
    assert not seen[0] & seen[1]
    for one in samples:
        assert one.share == len(one.rows) / N == pytest.approx(1 / 8, rel=0.1)
        assert (np.diff(one.rows) > 0).all()
        assert np.array_equal(one.ranks, ranked(ranks[one.rows].astype(np.uint64)[:, None]))
        assert np.array_equal(one.writers, ranks[one.rows] % 4)
        runs = 1 + int((np.diff(np.sort(ranks[one.rows])) > 1).sum())
        assert runs <= N // (N // 4 // 8) // 8 + 1, "successive keys, but at the borders of ranges"


def test_few_rows_are_all_simulated() -> None:
    ranks = streams.random(5000)
    (one,) = draw(lambda: chunks(ranks), 5000, 5000, 7)
    assert one.share == 1
    assert np.array_equal(one.ranks, ranks)
    assert np.array_equal(one.rows, np.arange(5000))


@pytest.mark.long
@pytest.mark.parametrize("pages", [2000, 6000, 9000])
def test_a_sample_reads_as_many_pages_a_row_as_the_load(pages: int) -> None:
    n = 2_000_000
    model = ENGINE.page_model(Table("t", ENGINE.default_column("uuid"), 0))
    assert isinstance(model, PredictsCost)
    ranks, server = streams.random(n), Server(cache_bytes=pages * 8192)
    whole = model.load_cost(Load(ranks, [n // 2, n], 1000), server).read.all[1] / (n / 2)
    halves = []
    for one in draw(lambda: chunks(ranks), n, n // 4, 7):
        ends = np.searchsorted(one.rows, [n // 2, n]).tolist()
        sampled = Server(cache_bytes=server.cache_bytes, share=one.share)
        halves.append(model.load_cost(Load(one.ranks, ends, 1000), sampled).read.all[1] / (ends[1] - ends[0]))
    assert np.mean(halves) == pytest.approx(whole, rel=0.03, abs=0.005)
