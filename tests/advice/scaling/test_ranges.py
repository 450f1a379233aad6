import numpy as np
import pytest
from numpy.typing import NDArray

from benchmarks.scaling import question
from keybench.advice.index_forecast import Growth
from keybench.advice.scaling.leaves import Index
from keybench.advice.scaling.ranges import Ranges, in_ranges
from keybench.advice.scaling.rows import Part, Rows, rows_of
from keybench.databases.registry import engine
from keybench.model.keys import Keys

ROWS, STEP = 800_000, 4


def texts(words: NDArray[np.uint64]) -> NDArray[np.bytes_]:
    """Keys as texts in the same order."""
    return words.astype(">u8").view(f"S{8 * words.shape[1]}")[:, 0]


@pytest.mark.parametrize(
    ("db", "name", "writers"),
    [*((db, "uuid-v1", 1) for db in ("postgresql", "mariadb", "sqlite", "mssql", "oracle")), ("sqlite", "uuid-v4", 4)],
)
def test_ranges_have_as_many_leaves_a_row_as_all_rows(db: str, name: str, writers: int) -> None:
    about = question(engine(db), name, Growth(ROWS, 1000, writers, writers - 1.0))
    every = rows_of(name, about.table.column, about.growth, Part(0, ROWS), about.seed)
    index = Index(about.on, about.table)
    whole = index.of(every)
    chosen = in_ranges(every, STEP, ROWS / whole.leaf_pages)
    assert len(chosen.rows.words) == pytest.approx(ROWS / STEP, rel=0.02)
    place = np.sort(np.searchsorted(np.sort(texts(every.words)), texts(chosen.rows.words)))
    last = chosen.begins + chosen.counts - 1
    assert (place[last] - place[chosen.begins] == chosen.counts - 1).all()  # a range has all of its rows
    assert chosen.begins[0] == 0 or (place[chosen.begins] - place[chosen.begins - 1] > 1).all()
    assert place[-1] == ROWS - 1
    found = chosen.leaves(index.of(chosen.rows).page_rows)
    assert 0 < found.half < 0.15 * found.value
    assert abs(found.value * ROWS - whole.leaf_pages) < found.half * ROWS


@pytest.mark.parametrize(("name", "restarts"), [("efcore-sequential", 2880.0), ("uuid-v7", 0.0)])
def test_a_row_of_a_range_has_one_above_it_if_it_has_one_among_all_rows(name: str, restarts: float) -> None:
    growth = Growth(200_000, 1000, 4, 2.0, restarts)
    about = question(engine("mssql"), name, growth)
    every = rows_of(name, about.table.column, growth, Part(0, growth.rows), about.seed)
    chosen = in_ranges(every, STEP, 50.0)
    all_keys, own_keys = texts(every.words), texts(chosen.rows.words)
    rank = np.searchsorted(np.sort(all_keys), own_keys)
    highest = np.maximum.accumulate(every.ranks)
    arrived = np.empty(growth.rows, np.int64)
    arrived[every.ranks] = np.arange(growth.rows)
    place = np.sort(rank)
    members = [np.arange(begin, begin + n) for begin, n in zip(chosen.begins, chosen.counts, strict=True)]
    in_a_range = np.isin(rank, place[np.concatenate(members)])
    at_edge, own_at_edge = highest[arrived[rank]] == rank, np.maximum.accumulate(rank) == rank
    assert (at_edge == own_at_edge)[in_a_range].all()
    assert (~in_a_range).sum() < 0.2 * len(rank)


def test_what_changes_along_the_index_is_not_chance() -> None:
    begins, counts = 10_000 * np.arange(40), np.full(40, 10_000)
    rows = Rows(Keys(np.arange(1), "int"), np.zeros((1, 1), np.uint64), np.zeros(1, np.int16))
    rising = np.concatenate([np.full(10_000 // each, each) for each in np.repeat([50, 100], 20).tolist()])
    by_turns = np.concatenate([np.full(10_000 // each, each) for each in [50, 100] * 20])
    assert Ranges(rows, begins, counts).leaves(rising).half < 0.03 * 0.015
    assert Ranges(rows, begins, counts).leaves(by_turns).half > 0.1 * 0.015
