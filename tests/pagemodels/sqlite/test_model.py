"""Compares the kernel of SQLite's model with the rules in plain Python, and with published page counts."""

from collections.abc import Sequence
from dataclasses import fields
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from benchmarks import streams
from keybench.databases.sqlite.engine import ENGINE
from keybench.errors import UsageError
from keybench.model.byteorder import sort_words
from keybench.model.keys import Keys
from keybench.model.payload import PayloadLengths
from keybench.model.table import KeyRole, Table
from keybench.pagemodels.contract import predict
from keybench.pagemodels.page_stats import PageStats
from keybench.pagemodels.ranking import ranked
from keybench.pagemodels.sqlite import records as cells
from keybench.pagemodels.sqlite import tree as trees
from keybench.pagemodels.sqlite.file_pages import new_file
from keybench.pagemodels.sqlite.load import load
from keybench.pagemodels.sqlite.state import chain
from tests.errors import raised
from tests.pagemodels.sqlite.reference import File, Tree
from tests.parameters import first

TABLES: list[tuple[str, int, KeyRole]] = [
    ("binary16", 0, "clustered"),
    ("char36", 100, "clustered"),
    ("bigint", 0, "clustered"),
    ("integer", 100, "clustered"),
    ("char36", 0, "nonclustered"),
    ("integer", 10, "nonclustered"),
]


def by_reference(table: Table, keys: Keys, page_bytes: int, lengths: NDArray[np.int64] | None) -> tuple[Tree, File]:
    """The same b-tree by the rules in plain Python."""
    column, n = table.column, len(keys)
    ranks = ranked(sort_words(keys, column.order))
    file, rowids = File(page_bytes), np.arange(1, n + 1)

    def by_rank(sizes: NDArray[np.integer[Any]]) -> list[int]:
        placed = np.empty(n, np.int64)
        placed[ranks] = sizes
        return placed.tolist()  # type: ignore[no-any-return]

    numbers = column.form == "int" and not cells.is_rowid(table)
    key = cells.integer_bytes(keys.data) if numbers else np.zeros(n, np.int64)  # type: ignore[arg-type]
    texts = np.full(n, table.payload) if lengths is None else lengths
    payload = cells.text_bytes(texts) if table.payload else np.zeros(n, np.int64)
    rows, row_pages, pages = None, np.zeros(n, np.int64), np.zeros(n, np.int64)
    if cells.is_rowid(table):
        varints = cells.varint_bytes(keys.data)  # type: ignore[arg-type]
        size, pages = cells.stored(cells.ROWID_RECORD + payload, page_bytes, table=True)
        tree = Tree(file, by_rank(size + varints).__getitem__, by_rank(4 + varints).__getitem__, page_bytes)
    elif table.key == "clustered":
        size, pages = cells.stored(cells.fixed_bytes(column) + payload + key, page_bytes, table=False)
        tree = Tree(file, by_rank(size).__getitem__, None, page_bytes)
    else:
        varints = cells.varint_bytes(rowids)
        size, row_pages = cells.stored(cells.fixed_bytes(column) + payload + key, page_bytes, table=True)
        rows = Tree(file, (size + varints).tolist().__getitem__, (4 + varints).tolist().__getitem__, page_bytes)
        entry = cells.fixed_bytes(column, rowid=True) + key + cells.integer_bytes(rowids)
        tree = Tree(file, by_rank(cells.stored(entry, page_bytes, table=False).sizes).__getitem__, None, page_bytes)
    of_key, of_row = np.broadcast_to(pages, n).tolist(), np.broadcast_to(row_pages, n).tolist()
    for row, rank in enumerate(ranks.tolist()):
        file.take_chain(of_key[row])
        tree.insert(rank)
        if rows:
            file.take_chain(of_row[row])
            rows.insert(row)
    return tree, file


def modelled(
    table: Table,
    keys: Keys,
    page_bytes: int = 4096,
    checkpoints: Sequence[int] = (),
    lengths: NDArray[np.int64] | None = None,
) -> PageStats:
    return predict(ENGINE.page_model(table, page_bytes=page_bytes), table.column, keys, checkpoints, lengths=lengths)


def assert_as_reference(
    table: Table, keys: Keys, page_bytes: int, lengths: NDArray[np.int64] | None = None
) -> tuple[PageStats, File]:
    """Returns the model's figures and the reference's file."""
    stats = modelled(table, keys, page_bytes, lengths=lengths)
    tree, file = by_reference(table, keys, page_bytes, lengths)
    leaves = tree.leaves()
    assert stats.page_numbers.tolist() == [page.number for page in leaves]
    assert stats.page_rows.tolist() == [len(page.keys) for page in leaves]
    assert stats.branch_pages == tree.branches()
    assert stats.density == 100 * sum(map(tree.used, leaves)) / (len(leaves) * (page_bytes - 8))
    assert [stats.appends, stats.edge_splits, stats.interior_splits] == list(tree.kinds.values())
    assert stats.appends + stats.edge_splits + stats.interior_splits == stats.leaf_pages - 1
    return stats, file


@settings(deadline=None, max_examples=60)
@given(
    st.sampled_from(TABLES),
    st.sampled_from([1024, 2048]),
    st.integers(1, 1500),
    st.integers(1, 6),
    st.sampled_from([0, 3, 30, 300]),
    st.sampled_from([0, 3, 10, 1000]),
    st.sampled_from([1, -1, 1 << 20]),
    st.integers(0, 1000),
)
def test_the_kernel_equals_the_rules_in_plain_python(
    given: tuple[str, int, KeyRole], page_bytes: int, n: int, fronts: int, lag: int, noise: int, scale: int, seed: int
) -> None:
    column, payload, role = given
    on = Table("trial", ENGINE.column(column), payload, role)
    chance = np.random.Generator(np.random.PCG64(seed))
    times = np.arange(n) - chance.integers(0, fronts, n) * lag + chance.integers(0, noise + 1, n)
    numbers = (times * n + chance.permutation(n)) * scale
    assert_as_reference(on, streams.keys(numbers, on.column), page_bytes)


@settings(deadline=None, max_examples=30)
@given(
    st.sampled_from([("binary16", "clustered"), ("integer", "clustered"), ("char36", "nonclustered")]),
    st.sampled_from([512, 1024]),
    st.sampled_from([PayloadLengths(0, 200), PayloadLengths(1, 900, "zipfian"), PayloadLengths(0, 2000)]),
    st.integers(1, 800),
    st.sampled_from([0, 3, 300]),
    st.integers(0, 1000),
)
def test_rows_of_any_lengths_are_stored_by_the_rules(
    given: tuple[str, KeyRole], page_bytes: int, of: PayloadLengths, n: int, lag: int, seed: int
) -> None:
    """Among rows of very different lengths, a tree also loses a level again, and pages that are given back are taken by
    overflow pages."""
    column, role = given
    on = Table("trial", ENGINE.column(column), of.most, role, lengths=of)
    chance = np.random.Generator(np.random.PCG64(seed))
    times = np.arange(n) - chance.integers(0, 4, n) * lag
    keys = streams.keys(times * n + chance.permutation(n), on.column)
    assert_as_reference(on, keys, page_bytes, of.of((seed,), np.arange(n)))


@settings(deadline=None, max_examples=30)
@given(
    st.booleans(),
    st.sampled_from([(20, 20, 0), (8, 100, 0), (8, 16, 0.1), (4, 100, 0.02)]),
    st.sampled_from([512, 2048]),
    st.integers(1, 3000),
    st.sampled_from([0, 3, 300]),
    st.sampled_from([0, 10, 1000]),
    st.integers(0, 1000),
)
def test_cells_of_any_sizes_are_distributed_by_the_rules(
    rowids: bool, spread: tuple[int, int, float], page_bytes: int, n: int, lag: int, noise: int, seed: int
) -> None:
    """Sizes that no table has: with few large cells among small ones, branch pages are given back too."""
    chance = np.random.Generator(np.random.PCG64(seed))
    times = np.arange(n) - chance.integers(0, 4, n) * lag + chance.integers(0, noise + 1, n)
    ranks = np.argsort(np.argsort(times * n + chance.permutation(n)))
    low, high, large = spread
    sizes = np.where(chance.random(n) < large, 100, chance.integers(low, high + 1, n)).astype(np.uint16)
    dividers = np.where(chance.random(n) < 0.5, 5, 12).astype(np.uint16)
    tree, state = trees.new(ranks, sizes, dividers if rowids else None, page_bytes), new_file(page_bytes)
    trees.make_root(tree, state)
    assert load(tree, state, ranks, 0, n, True) == n
    file, placed = File(page_bytes), np.argsort(ranks)
    divider = dividers[placed].tolist().__getitem__ if rowids else None
    reference_tree = Tree(file, sizes[placed].tolist().__getitem__, divider, page_bytes)
    for rank in ranks.tolist():
        reference_tree.insert(rank)
    leaves = tree.leaves[chain(tree)]
    assert leaves[:, trees.NUMBER].tolist() == [page.number for page in reference_tree.leaves()]
    assert leaves[:, trees.CELLS].tolist() == [len(page.keys) for page in reference_tree.leaves()]
    assert leaves[:, trees.USED].tolist() == [reference_tree.used(page) for page in reference_tree.leaves()]
    assert tree.facts[trees.BRANCHES] == reference_tree.branches()
    assert (leaves[:-1, trees.CELLS] >= 1 << tree.facts[trees.SHIFT]).all()


@pytest.mark.parametrize("n", [1, 2, 7, 8, 9, 70])
def test_a_root_that_is_a_leaf_is_split_first(n: int) -> None:
    for column in ("binary16", "integer"):
        on = Table("trial", ENGINE.column(column), 40)
        for order in (1, -1):
            assert_as_reference(on, streams.keys(np.arange(n)[::order] * 1000, on.column), 512)


@pytest.mark.parametrize("page_bytes", first(1, [512, 65_536]))
@pytest.mark.parametrize("given", TABLES)
def test_pages_of_other_sizes(given: tuple[str, int, KeyRole], page_bytes: int) -> None:
    column, payload, role = given
    on = Table("trial", ENGINE.column(column), payload if page_bytes > 512 else 0, role)
    for stream in ("random", "descending"):
        assert_as_reference(on, streams.keys(streams.STREAMS[stream](6_000), on.column), page_bytes)


def test_pages_that_are_given_back_are_taken_again() -> None:
    """Where the newest row goes alone to a new leaf, sparse leaves come to lie beside one another."""
    on = Table("trial", ENGINE.column("integer"), 92)
    keys = streams.keys(streams.STREAMS["4 lagging by 0.5 %"](6000), on.column)
    _, file = assert_as_reference(on, keys, 1024)
    assert file.given_back > 20


@pytest.mark.parametrize("given", [*TABLES, ("binary16", 20, "by-date")])
def test_memory_may_grow_at_any_row(given: tuple[str, int, KeyRole], monkeypatch: pytest.MonkeyPatch) -> None:
    column, payload, role = given
    on = Table("trial", ENGINE.column(column), min(payload, 40), role)
    keys = streams.keys(streams.STREAMS["4 lagging by 0.5 %"](30_000), on.column)
    wanted, grown = modelled(on, keys, 512, (3, 5000)), []
    monkeypatch.setattr(trees, "_FILL", 1e9)
    monkeypatch.setattr(trees, "_MARGIN", 4)
    monkeypatch.setattr(trees, "grow", lambda tree, grow=trees.grow: (grown.append(len(tree.branches)), grow(tree)))
    stats = modelled(on, keys, 512, (3, 5000))
    assert len(grown) > 3
    assert_same(stats, wanted)


@pytest.mark.long
def test_more_rows_than_32_bits_count_give_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    """As far as few rows show it: compiled for wider integers."""
    on = Table("trial", ENGINE.column("binary16"), 100, "nonclustered")
    keys = streams.keys(streams.STREAMS["random"](20_000), on.column)
    wanted = modelled(on, keys)
    monkeypatch.setattr(trees, "_NARROW", 0)
    assert_same(modelled(on, keys), wanted)


def assert_same(stats: PageStats, wanted: PageStats) -> None:
    for part in fields(PageStats):
        one, other = getattr(stats, part.name), getattr(wanted, part.name)
        if isinstance(one, np.ndarray):
            assert one.tolist() == other.tolist()
        else:
            assert one == other or (one != one and other != other)


def test_appended_rows_of_a_rowid_table_fill_its_leaves() -> None:
    """As SQLite 3.40.1 had them (docs/internals/sqlite.md §6)."""
    stats = modelled(Table("trial", ENGINE.column("integer"), 100), Keys(np.arange(1, 1_000_001), "int"))
    assert (stats.leaf_pages, stats.appends, stats.fragmentation) == (27_028, 27_027, 0)
    assert stats.page_rows.sum() == 1_000_000


@pytest.mark.parametrize(
    ("column", "payload", "order", "pages", "leaves", "density"),
    [("binary16", 0, 1, 5890, 5848, 87.33), ("char36", 0, 1, 11_509, 11_364, 87.25),
     ("binary16", 100, 1, 34_525, 33_333, 87.26), ("binary16", 0, -1, 10_325, 10_202, 49.84),
     ("char36", 0, -1, 20_438, 19_998, 49.15), ("binary16", 100, -1, 62_490, 58_821, 48.14)],
)  # fmt: skip
def test_a_million_keys_in_order(column, payload, order, pages, leaves, density) -> None:
    """As SQLite 3.40.1 had them (docs/internals/sqlite.md §6)."""
    on = Table("trial", ENGINE.column(column), payload)
    stats = modelled(on, streams.keys(np.arange(1_000_000)[::order], on.column))
    assert (stats.leaf_pages, stats.leaf_pages + stats.branch_pages) == (leaves, pages)
    assert round(stats.density, 2) == density


@pytest.mark.parametrize("given", TABLES)
def test_checkpoints_equal_a_load_that_ends_there(given: tuple[str, int, KeyRole]) -> None:
    column, payload, role = given
    on = Table("trial", ENGINE.column(column), payload, role)
    keys = streams.keys(streams.STREAMS["4 lagging by 0.5 %"](8000), on.column)
    rows = (1, 700, 5000, 8000)
    stats = modelled(on, keys, checkpoints=rows)
    assert [point.rows for point in stats.checkpoints] == list(rows)
    for point in stats.checkpoints:
        alone = modelled(on, keys[: point.rows])
        assert (point.leaf_pages, point.density) == (alone.leaf_pages, alone.density)
        kinds = (alone.appends, alone.edge_splits, alone.interior_splits)
        assert (point.appends, point.edge_splits, point.interior_splits) == kinds


def test_tables_that_cannot_be_modelled_are_refused() -> None:
    on = Table("trial", ENGINE.column("binary16"), 0)
    said = raised(UsageError, ENGINE.page_model, on, page_bytes=1000)
    assert said == "SQLite has no pages of 1000 bytes: take a power of two from 512 to 65536."
    varying = Table("trial", on.column, 9, lengths=PayloadLengths(1, 9))
    said = raised(UsageError, modelled, varying, streams.keys(np.arange(3), on.column))
    assert said == "the payloads of this table vary: give the page model the length of each with `with_payloads`."
