"""Indexes that repeat each key equal indexes in which each entry has a key of its own, in order of arrival."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from keybench.databases.contract_suite.keys import random
from keybench.databases.registry import engine
from keybench.model.keys import Keys
from keybench.model.table import KeyRole, Table
from keybench.pagemodels.contract import predict
from keybench.pagemodels.foreign_key_index import repeated
from keybench.pagemodels.half_split.kernel import Rule
from keybench.pagemodels.half_split.model import SizedSplitModel
from keybench.pagemodels.page_stats import PageStats
from tests.pagemodels.half_split.plain import split_model

BRANCH = Rule(20, 20, 10, 10, 10)


def expanded(ranks: np.ndarray, times: int) -> np.ndarray:
    """Ranks of (key, arrival) by sorting pairs."""
    pairs = [(rank, number) for number, rank in enumerate(np.repeat(ranks, times).tolist())]
    place = {pair: at for at, pair in enumerate(sorted(pairs))}
    return np.array([place[pair] for pair in pairs], np.int64)


def assert_same(stats: PageStats, wanted: PageStats, times: int) -> None:
    assert stats.rows == wanted.rows
    assert stats.page_rows.tolist() == wanted.page_rows.tolist()
    assert stats.page_numbers.tolist() == wanted.page_numbers.tolist()
    assert [at.rows * times for at in stats.checkpoints] == [at.rows for at in wanted.checkpoints]
    assert [at.leaf_pages for at in stats.checkpoints] == [at.leaf_pages for at in wanted.checkpoints]


@settings(max_examples=30, deadline=None)
@given(st.integers(1, 120), st.integers(1, 5), st.integers(0, 99))
def test_entries_of_one_size(n: int, times: int, seed: int) -> None:
    ranks = np.random.Generator(np.random.PCG64(seed)).permutation(n)
    model = split_model(Rule(30, 30, 29, 15, 15), BRANCH, lambda rows, used, pages: 100.0)
    wanted = model.insert(expanded(ranks, times), [times, n * times] if n > 1 else [times])
    assert_same(repeated(model, times).insert(ranks, [1, n] if n > 1 else [1]), wanted, times)  # type: ignore[call-arg]


@settings(max_examples=30, deadline=None)
@given(st.integers(1, 60), st.integers(1, 4), st.integers(0, 99))
def test_entries_of_different_keys_that_lie_between_one_another(n: int, times: int, seed: int) -> None:
    random_numbers = np.random.Generator(np.random.PCG64(seed))
    ranks, parents = random_numbers.permutation(n), random_numbers.permutation(np.repeat(np.arange(n), times))
    pairs = [(rank, number) for number, rank in enumerate(ranks[parents].tolist())]
    place = {pair: at for at, pair in enumerate(sorted(pairs))}
    entries = np.array([place[pair] for pair in pairs], np.int64)
    model = split_model(Rule(30, 30, 29, 15, 15), BRANCH, lambda rows, used, pages: 100.0)
    mixed = repeated(model, times)
    found = mixed.interleaved(parents)
    assert_same(found.insert(ranks, [n]), model.insert(entries, [n * times]), times)  # type: ignore[call-arg]
    sizes = (10 + ranks % 7).astype(np.uint16)
    sized = SizedSplitModel(split_model(Rule(200, 200, smallest=10), BRANCH, model.density), lambda keys: sizes)
    again = repeated(sized, times)
    own = again.interleaved(parents)
    wanted = sized.insert(entries, [n * times], sizes=sizes[parents])
    assert_same(own.insert(ranks, [n], sizes=sizes), wanted, times)  # type: ignore[call-arg]


def leaves(name: str, column: str, role: KeyRole, keys: Keys, children: int = 1, **given: str) -> int:
    table = Table("t", engine(name).column(column), 20, role, children=children)
    return predict(engine(name).page_model(table, **given), table.column, keys).leaf_pages


def test_every_engine_has_as_many_entries_as_there_are_children() -> None:
    """Four entries of a key take about four times the room, or more if they look like an ascending sequence. An index
    beside a table by date equals one beside a table by number; in SQLite, though, small numbers are shorter."""
    keys = random(6000)
    columns = {"postgresql": "uuid", "mariadb": "binary16", "sqlite": "binary16", "mssql": "uniqueidentifier"}
    for name, column in {**columns, "mysql": "binary16", "oracle": "raw16"}.items():
        apart = {"deduplicate_items": "off"} if name == "postgresql" else {}
        once, four = (leaves(name, column, "fk", keys, children, **apart) for children in (1, 4))
        assert 3 * once < four < 6 * once
        assert once <= leaves(name, column, "by-date", keys) <= 1.3 * once
    assert leaves("mssql", "uniqueidentifier", "by-date", keys) == leaves(
        "mssql", "uniqueidentifier", "nonclustered", keys, beneath="bigint"
    )
