from dataclasses import replace

import numpy as np
import pytest
from numpy.typing import NDArray

from benchmarks.scaling import question
from keybench.advice.index_forecast import Growth
from keybench.advice.scaling.borders import borders, lowest_places
from keybench.advice.scaling.leaves import Index, Stratum
from keybench.advice.scaling.ranges import Ranges, in_ranges
from keybench.advice.scaling.rows import Part, Rows, rows_of
from keybench.databases.registry import engine

ROWS, SIMULATED = 1_600_000, 800_000


def load(db: str, name: str, growth: Growth) -> tuple[Index, Rows]:
    about = question(engine(db), name, growth)
    return Index(about.on, about.table), rows_of(name, about.table.column, growth, Part(0, growth.rows), about.seed)


def texts(words: NDArray[np.uint64]) -> NDArray[np.bytes_]:
    """Keys as texts in the same order."""
    return words.astype(">u8").view(f"S{8 * words.shape[1]}")[:, 0]


def places(rows: Rows, every: Rows) -> NDArray[np.int64]:
    """The rank of each of these rows among all, in order of keys."""
    return np.searchsorted(np.sort(texts(every.words)), np.sort(texts(rows.words)))


@pytest.mark.parametrize(
    ("db", "name", "writers", "wrong"),
    [
        *((db, "uuid-v1", 1, 0) for db in ("postgresql", "oracle")),
        ("postgresql", "bigint-bit-reversed", 4, 0),  # all leaves split in step
        ("sqlite", "uuid-v1", 1, 2),  # this engine and the next move rows to neighbours
        ("mariadb", "newsequentialid", 1, 2),
        ("mariadb", "bigint-bit-reversed", 4, 2),
        ("mssql", "uuid-v1", 4, None),
        ("postgresql", "cockroachdb-hash-sharded", 4, None),
        ("sqlite", "cockroachdb-hash-sharded", 4, None),
    ],
)
def test_ranges_have_the_leaves_that_all_rows_have(db: str, name: str, writers: int, wrong: int | None) -> None:
    """Of a hundred leaves, so many can be missing or too many in ranges that are not cut."""
    index, every = load(db, name, Growth(ROWS, 200, writers, writers - 1.0))
    whole = index.of(every)
    chosen = in_ranges(index, every, SIMULATED)
    assert chosen is not None
    assert bool(chosen.cuts) == (wrong is None)
    assert len(chosen.rows.words) == pytest.approx(SIMULATED, rel=0.1)
    stats = index.of(chosen.rows)
    found = chosen.leaves(stats)
    assert found.half < 0.06 * found.value
    assert abs(found.value * ROWS - whole.leaf_pages) <= found.half * ROWS
    place = places(chosen.rows, every)
    first = np.ceil(chosen.begins).astype(int)
    last = np.ceil(chosen.ends).astype(int) - 1
    assert (place[last] - place[first] == last - first).all()  # a range has all of its rows
    assert place[-1] == ROWS - 1
    if wrong is not None:
        of_all = replace(chosen, begins=place[first], ends=place[last] + 1)
        leaves = chosen.leaves_in_each(stats)[0]
        assert 100 * abs(leaves - of_all.leaves_in_each(whole)[0]).sum() <= wrong * leaves.sum()


@pytest.mark.parametrize(("name", "restarts"), [("efcore-sequential", 2880.0), ("uuid-v7", 0.0)])
def test_a_row_of_a_range_has_one_above_it_if_it_has_one_among_all_rows(name: str, restarts: float) -> None:
    index, every = load("mssql", name, Growth(200_000, 1000, 4, 2.0, restarts))
    chosen = in_ranges(index, every, 150_000)
    assert chosen is not None
    rank = np.searchsorted(np.sort(texts(every.words)), texts(chosen.rows.words))
    highest = np.maximum.accumulate(every.ranks)
    arrived = np.empty(len(every.words), np.int64)
    arrived[every.ranks] = np.arange(len(every.words))
    place = np.sort(rank)
    members = [np.arange(np.ceil(a), np.ceil(z)) for a, z in zip(chosen.begins, chosen.ends, strict=True)]
    in_a_range = np.isin(rank, place[np.concatenate(members).astype(int)])
    at_edge, own_at_edge = highest[arrived[rank]] == rank, np.maximum.accumulate(rank) == rank
    assert (at_edge == own_at_edge)[in_a_range].all()
    assert in_a_range.sum() > 0.4 * len(rank)


def test_too_few_ranges_do_not_stand_for_all() -> None:
    assert in_ranges(*load("postgresql", "bigint-bit-reversed", Growth(ROWS, 1000)), SIMULATED // 8) is None


def test_where_the_first_rows_leave_out_most_of_the_index_more_are_taken() -> None:
    first = ROWS // 128  # 62 of the 430 seconds after which the first bytes of a uuid-v1 are the same again
    found = borders(*load("postgresql", "uuid-v1", Growth(ROWS, 200)), SIMULATED)
    assert not found.cut.any()
    assert 3 * first < found.first.sum() < SIMULATED / 2
    assert not found.first[ROWS // 4 :].any()


def test_ranges_that_never_stop_growing_are_cut() -> None:
    index, every = load("mariadb", "cockroachdb-hash-sharded", Growth(ROWS, 1000))
    found = borders(index, every, SIMULATED)
    assert found.cut.mean() > 0.5
    counts = np.bincount(found.range_of(every.words), minlength=len(found.lows))
    assert counts.max() < 3 * counts[found.cut].mean()


def test_a_row_on_a_branch_page_is_between_two_leaves() -> None:
    index, every = load("sqlite", "uuid-v4", Growth(20_000, 1000))
    stats = index.of(every)
    assert stats.page_rows.sum() < stats.rows
    assert lowest_places(stats)[-1] + stats.page_rows[-1] == stats.rows


def half(page_rows: list[int], strata: list[Stratum], borders_stay: bool = True) -> float:
    """The interval's half, relative, where leaves of 40 ranges of 10,000 rows have so many rows."""
    index, every = load("mariadb", "uuid-v4", Growth(2000, 1000))
    begins, of = 10_000.0 * np.arange(40), 400_000
    chosen = Ranges(every, begins, begins + 10_000, 0, strata, np.ones(40, np.bool_), 0, borders_stay, of, 0, of)
    leaves = np.concatenate([np.full(10_000 // each, each) for each in page_rows])
    found = chosen.leaves(replace(index.of(every), rows=of, leaf_pages=len(leaves), page_rows=leaves))
    assert found.value == pytest.approx(len(leaves) / of)
    return found.half / found.value


def test_what_changes_along_the_index_is_not_chance() -> None:
    assert half([50] * 20 + [100] * 20, [Stratum(1.0, 40)]) < 0.03
    assert half([50, 100] * 20, [Stratum(1.0, 40)]) > 0.1


def test_how_strata_differ_is_not_chance() -> None:
    page_rows = [50] * 10 + [100] * 30
    assert half(page_rows, [Stratum(1.0, 40)]) > 0.02
    rounding = 2.07 * (40 / 12) ** 0.5 / 5000  # Student's t, the variance of 40 whole numbers, all leaves
    assert half(page_rows, [Stratum(0.25, 10), Stratum(0.75, 30)]) == pytest.approx(rounding)


def test_where_rows_move_across_borders_each_adds_a_quarter_of_a_leaf() -> None:
    page_rows, strata = [50] * 40, [Stratum(1.0, 40)]
    assert half(page_rows, strata, borders_stay=False) == pytest.approx(half(page_rows, strata) + 80 / 4 / 8000)


def test_ranges_through_which_as_many_writers_have_passed_are_a_stratum() -> None:
    index, every = load("mssql", "efcore-sequential", Growth(ROWS, 1000, 4, 0.04))
    chosen = in_ranges(index, every, SIMULATED)
    assert chosen is not None
    assert len(chosen.strata) == 7
    assert sum(stratum.parts for stratum in chosen.strata) == len(chosen.begins)
    assert sum(stratum.share for stratum in chosen.strata) == pytest.approx(1)
    found, whole = chosen.leaves(index.of(chosen.rows)), index.of(every).leaf_pages / ROWS
    assert abs(found.value - whole) <= found.half < 0.02 * whole


@pytest.mark.parametrize("db", ["postgresql", "mssql", "oracle", "mariadb", "mysql", "sqlite"])
def test_engines_that_move_rows_to_neighbours_are_known(db: str) -> None:
    index, every = load(db, "cockroachdb-hash-sharded", Growth(ROWS, 1000))
    chosen = in_ranges(index, every, SIMULATED)
    assert chosen is not None
    assert chosen.cuts
    assert chosen.borders_stay == (db in ("postgresql", "mssql", "oracle"))
