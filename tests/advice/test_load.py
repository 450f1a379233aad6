"""The rows of a table that grows."""

import numpy as np
import pytest

from keybench.advice.load import Growth, first_rows, keys_of, spread_rows
from keybench.databases.registry import engine
from keybench.model.byteorder import sort_words

UUID = engine("postgresql").default_column("uuid")


@pytest.mark.parametrize("name", ["uuid-v7", "efcore-sequential", "newsequentialid", "uuid-v4"])
def test_the_first_rows_are_those_of_the_whole_load(name: str) -> None:
    growth = Growth(3_000, 100, writers=3, behind_seconds=2)
    whole, writers = keys_of(name, growth, 1)
    first = first_rows(name, UUID, growth, 1_000, 1)
    assert np.array_equal(first.keys.data, whole.data[:1_000])
    assert np.array_equal(first.writers, writers[:1_000])
    assert np.array_equal(first.first(10).words, first.words[:10])
    assert np.array_equal(first.ranks, np.argsort(np.lexsort(sort_words(first.keys, UUID.order).T[::-1])))


def test_the_last_writer_is_the_slowest() -> None:
    growth = Growth(4_000, 100, writers=4, behind_seconds=6)
    keys, writers = keys_of("uuid-v7", growth, 1)
    shown = keys.data[:, :6].astype(np.int64) @ (256 ** np.arange(5, -1, -1))
    late = [int(np.median(shown[writers == 0] - shown[writers == i])) for i in range(4)]
    assert late == pytest.approx([0, 2_000, 4_000, 6_000], abs=50)  # milliseconds; writers take turns


def test_some_rows_take_as_long_as_all() -> None:
    growth = Growth(1_000_000, 1_000)
    keys = spread_rows("uuid-v7", UUID, growth, 1_000, 1).keys
    shown = keys.data[:, :6].astype(np.int64) @ (256 ** np.arange(5, -1, -1))
    assert shown[-1] - shown[0] == pytest.approx(1e6, rel=0.01)
    bigint = engine("sqlite").default_column("int")
    assert spread_rows("bigint-identity", bigint, growth, 1_000, 1).keys.data[-1] == 1_000_000


def test_writers_restart_in_turns() -> None:
    growth = Growth(120_000, 1000, 2, restarts_per_day=1440)  # each once a minute
    keys, _ = keys_of("efcore-sequential", growth, 1)
    counter = keys.data[:, 10:16].astype(np.int64) @ (256 ** np.arange(5, -1, -1))
    for writer in range(2):
        jumps = np.flatnonzero(np.diff(counter[writer::2]) > 1000) + 1
        # after a half and one and a half minutes, and after one
        assert jumps.tolist() == ([15_000, 45_000] if writer == 0 else [30_000])


def test_no_writer_restarts_more_often_than_it_has_rows() -> None:
    (writer,) = Growth(1_000, 10, restarts_per_day=5e-324).scenario().writer
    assert writer.restarts == ()
    (writer,) = Growth(1_000, 10, restarts_per_day=1e9).scenario().writer
    assert len(writer.restarts) <= 1_000
