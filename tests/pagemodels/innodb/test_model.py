"""Compares the kernel of InnoDB's model with the rules in plain Python."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from benchmarks import streams
from keybench.databases.mariadb import ENGINE
from keybench.databases.mysql import ENGINE as MYSQL
from keybench.errors import UsageError
from keybench.model.table import Table
from keybench.pagemodels.innodb.model import InnodbModel, Parameters, page_model
from keybench.pagemodels.ranking import ranked
from tests.errors import raised
from tests.pagemodels.innodb.reference import Space, Tree

Ranks = NDArray[np.int64]


def table(column: str = "binary16", payload: int = 0, role: str = "clustered", engine=ENGINE) -> Table:
    return Table("trial", engine.column(column), payload, role)  # type: ignore[arg-type]


def ranks_of(stream: str, rows: int) -> Ranks:
    return ranked(streams.STREAMS[stream](rows).astype(np.uint64)[:, None])


def by_reference(model: InnodbModel, ranks: Ranks) -> tuple[Tree, Space, int]:
    """The same index by the rules in plain Python, and what its table's and its own splits add to the counter."""
    space = Space(model.mysql, model.page_bytes)
    trees = [
        Tree(space, part.leaf_bytes, part.branch_bytes, part.clustered, i, part.page_bytes)
        for i, part in enumerate(filter(None, (model.table, model)))
    ]
    for row, key in enumerate(ranks.tolist()):
        if model.table:
            trees[0].insert(row)
        trees[-1].insert(key)
    return trees[-1], space, sum(tree.counter for tree in trees)


def assert_as_reference(model: InnodbModel, ranks: Ranks) -> None:
    stats = model.insert(ranks)
    tree, space, counter = by_reference(model, ranks)
    leaves = tree.level(0)
    assert stats.page_numbers.tolist() == [page.number for page in leaves]
    assert stats.page_rows.tolist() == [len(page.keys) for page in leaves]
    assert stats.garbage_bytes == sum(len(page.spare) for page in leaves) * model.leaf_bytes
    assert stats.branch_pages == sum(len(tree.level(level)) for level in range(1, tree.root.level + 1))
    assert (stats.split_counter, stats.merges, stats.file_pages) == (counter, tree.merges, space.size)
    assert [stats.appends, stats.edge_splits, stats.interior_splits] == list(tree.kinds.values())
    assert stats.appends + stats.edge_splits + stats.interior_splits == stats.leaf_pages - 1 == len(leaves) - 1


@st.composite
def orders(draw: st.DrawFn) -> Ranks:
    """Generators that lag behind one another, each in some disorder, up or down."""
    n = draw(st.integers(1, 3000))
    chance = np.random.Generator(np.random.PCG64(draw(st.integers(0, 1000))))
    who = chance.integers(0, draw(st.integers(1, 6)), n)
    noise = chance.permutation(n) * draw(st.sampled_from([0, 1, 3, 10, n])) // n
    times = (np.arange(n) - who * draw(st.sampled_from([0, 3, 30, 300, n])) + noise) * draw(st.sampled_from([1, -1]))
    ranks = np.empty(n, np.int64)
    ranks[np.lexsort((np.arange(n), times))] = np.arange(n)
    return ranks


MODELS = [
    InnodbModel(340, 250, page_bytes=4096),
    InnodbModel(34, 25, page_bytes=4096),
    InnodbModel(700, 900, page_bytes=8192),
    InnodbModel(1350, 250),
    InnodbModel(290, 290, clustered=False, table=InnodbModel(420, 170, page_bytes=4096), page_bytes=4096),
    InnodbModel(2600, 250, page_bytes=32_768),
    InnodbModel(5400, 3000, page_bytes=65_536),
    InnodbModel(340, 250, mysql=True, page_bytes=4096),
]


@settings(deadline=None, max_examples=60)
@given(st.sampled_from(MODELS), orders())
def test_the_kernel_equals_the_rules_in_plain_python(model: InnodbModel, ranks: Ranks) -> None:
    assert_as_reference(model, ranks)


@pytest.mark.parametrize("stream", streams.STREAMS)
@pytest.mark.parametrize("engine", [ENGINE, MYSQL])
def test_the_kernel_equals_the_rules_with_pages_of_16_kib(engine, stream: str) -> None:
    for role, payload in (("clustered", 300), ("nonclustered", 100)):
        model = engine.page_model(table("char36", payload, role, engine))
        assert_as_reference(model, ranks_of(stream, 12_000))


@pytest.mark.parametrize("stream", ["increasing", "descending", "random"])
def test_mysql_leases_the_extents_of_descriptors_and_mariadb_does_not(stream: str) -> None:
    """From the 4096th page on; its extent holds the second pair of descriptor pages, and 254 others."""
    ranks, shared = ranks_of(stream, 10_000), set(range(4096, 4352))
    for mysql in (True, False):
        model = InnodbModel(1900, 60, mysql=mysql, page_bytes=4096)
        assert_as_reference(model, ranks)
        leased = shared.intersection(model.insert(ranks).page_numbers.tolist())
        assert leased == (shared - {4096, 4097} if mysql else set())


@pytest.mark.parametrize(
    ("column", "leaf", "branch", "density", "garbage", "counter", "file_pages"),
    [
        ("binary16", 2269, 6, 92.20, 7514, 2272, 2816),
        ("bigint", 1743, 4, 91.78, 7462, 1744, 2304),
        ("char36", 3585, 12, 92.68, 7560, 3594, 4096),
    ],
)
def test_a_million_increasing_keys(column, leaf, branch, density, garbage, counter, file_pages) -> None:
    """As MariaDB 10.11.19 had them (docs/internals/innodb.md §9)."""
    stats = ENGINE.page_model(table(column)).insert(np.arange(1_000_000))
    assert (stats.leaf_pages, stats.branch_pages, stats.garbage_bytes) == (leaf, branch, garbage)
    assert round(stats.density, 2) == density
    assert (stats.split_counter, stats.file_pages, stats.fragmentation) == (counter, file_pages, 0)
    assert (stats.appends, stats.merges) == (leaf - 1, 0)


def test_a_million_descending_keys() -> None:
    stats = ENGINE.page_model(table()).insert(np.arange(1_000_000)[::-1].copy())
    assert (stats.leaf_pages, stats.branch_pages, stats.garbage_bytes) == (2269, 6, 0)
    assert round(stats.nonadjacent, 2) == 2.87
    assert stats.back_links == stats.fragmentation == 100 * 65 / 2269


def test_mysql_counts_no_insertion_into_the_right_neighbour() -> None:
    ranks = ranks_of("same millisecond", 50_000)
    mariadb, mysql = (page_model(table(), Parameters(), mysql=mysql).insert(ranks) for mysql in (False, True))
    assert mysql.split_counter == mysql.leaf_pages - 1 + mysql.branch_pages - 1  # one level of branch pages: its root
    assert mariadb.split_counter > mysql.split_counter


@pytest.mark.parametrize("role", ["clustered", "nonclustered"])
def test_checkpoints_equal_a_load_that_ends_there(role: str) -> None:
    ranks = ranks_of("4 lagging by 0.5 %", 20_000)
    model = ENGINE.page_model(table("char36", 100, role))
    rows = (1, 700, 5000, 20_000)
    stats = model.insert(ranks, rows)
    assert [point.rows for point in stats.checkpoints] == list(rows)
    for point in stats.checkpoints:
        first = np.argsort(np.argsort(ranks[: point.rows]))
        alone = model.insert(first)
        assert (point.leaf_pages, point.density) == (alone.leaf_pages, alone.density)
        kinds = (alone.appends, alone.edge_splits, alone.interior_splits)
        assert (point.appends, point.edge_splits, point.interior_splits) == kinds


def test_tables_that_cannot_be_modelled_are_refused() -> None:
    assert raised(UsageError, ENGINE.page_model, table(payload=8994)) == (
        "a record of 9030 bytes is too long for a page of 16384: the page model of InnoDB takes shorter keys and "
        "payloads only."
    )
    with pytest.raises(UsageError, match=r"^a record of 2036 bytes is too long for a page of 4096: "):
        ENGINE.page_model(table(payload=2000), page_bytes=4096)
    ENGINE.page_model(table(payload=16_347), page_bytes=65_536)
    with pytest.raises(UsageError, match=r"^a record of 16384 bytes is too long for a page of 65536: "):
        ENGINE.page_model(table(payload=16_348), page_bytes=65_536)
    for size in (0, 1024, 16_383, 131_072):
        said = raised(UsageError, ENGINE.page_model, table(), page_bytes=size)
        assert said == f"InnoDB has no pages of {size} bytes: use one of 4096, 8192, 16384, 32768, 65536."
    for threshold in (0, 51):
        said = raised(UsageError, ENGINE.page_model, table(), merge_threshold=threshold)
        assert said == f"MERGE_THRESHOLD is between 1 and 50, not {threshold}: the default is 50."
    said = raised(UsageError, ENGINE.page_model, table("binary"))
    assert said == "the column binary is as wide as its keys: give it their width with `sized` first."
