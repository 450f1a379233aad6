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
    edges = np.cumsum([0, *chosen.counts])
    assert (place[edges[1:] - 1] - place[edges[:-1]] == chosen.counts - 1).all()  # a range has all of its rows
    assert place[-1] == ROWS - 1
    found = chosen.leaves(index.of(chosen.rows).page_rows)
    assert 0 < found.half < 0.1 * found.value
    assert abs(found.value * ROWS - whole.leaf_pages) < found.half * ROWS


def test_what_changes_along_the_index_is_not_chance() -> None:
    counts = np.full(40, 10_000)
    rows = Rows(Keys(np.arange(1), "int"), np.zeros((1, 1), np.uint64), np.zeros(1, np.int16))
    rising = np.concatenate([np.full(10_000 // each, each) for each in np.repeat([50, 100], 20).tolist()])
    by_turns = np.concatenate([np.full(10_000 // each, each) for each in [50, 100] * 20])
    assert Ranges(rows, counts).leaves(rising).half < 0.03 * 0.015
    assert Ranges(rows, counts).leaves(by_turns).half > 0.1 * 0.015
