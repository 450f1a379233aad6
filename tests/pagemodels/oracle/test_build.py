"""What CREATE INDEX and REBUILD leave in Oracle's leaves, beside published figures."""

import numpy as np
import pytest

from keybench.databases.oracle.engine import ENGINE
from keybench.model.keys import Keys
from keybench.model.table import Table
from keybench.pagemodels.contract import IndexState, empty_index
from keybench.pagemodels.page_stats import PageStats


def empty(column: str, keys: int, **given: bool) -> IndexState:
    """An index of 1 … n, or of keys of 16 bytes, beside a heap."""
    model = ENGINE.page_model(Table("t", ENGINE.column(column), 0, "nonclustered"), **given)
    values = Keys(np.arange(1, keys + 1), "int") if column == "number" else Keys(np.zeros((keys, 16), np.uint8), "uuid")
    make = empty_index(model, np.arange(keys), values)
    return make()


def built(column: str, keys: int, fill: int, **given: bool) -> PageStats:
    """CREATE INDEX on them."""
    state = empty(column, keys, **given)
    state.build(np.arange(keys), fill)
    return state.stats()


def test_thirty_thousand_numbers() -> None:
    """oracledba.co.uk/tips/index_space_reuse.htm (C. McDonald): 66 leaf blocks, 1 branch block, PCT_USED 88."""
    stats = built("number", 29_999, 90, unique=False)
    assert (stats.leaf_pages, stats.branch_pages) == (66, 1)
    of_branch = 66 * (2 + 4 + 1 + 4)
    used = stats.density / 100 * 66 * 7996 + of_branch
    assert round(100 * used / (66 * 7996 + 8028)) == 88


def test_a_million_numbers_that_ascend() -> None:
    """richardfoote.wordpress.com 2009/01/13: 1,999 leaf blocks after inserts of 1 … 1,000,000, fewer than after a
    rebuild at the default PCTFREE of 10."""
    state = empty("number", 1_000_000, unique=False)
    state.insert(np.arange(1_000_000))
    assert state.stats().leaf_pages == 1999
    state.rebuild(90)
    assert 1999 < state.stats().leaf_pages <= 2230


def test_ten_thousand_numbers() -> None:
    """richardfoote.wordpress.com 2015/06/22, a treedump: 21 leaves, 485 rows in the first and 479 in the others."""
    rows = built("number", 10_000, 90, unique=False).page_rows.tolist()
    assert rows[:20] == [485] + [479] * 19
    assert len(rows) == 21


@pytest.mark.parametrize(("pctfree", "a_leaf"), [(0, 295), (10, 266), (30, 206), (99, 1)])
def test_entries_a_leaf(pctfree: int, a_leaf: int) -> None:
    assert built("raw16", 3000, 100 - pctfree).page_rows[0] == a_leaf


def test_branch_blocks_are_filled() -> None:
    stats = built("raw16", 600, 1)
    assert (stats.leaf_pages, stats.branch_pages) == (600, 3)  # 8,028 bytes hold 349 entries of 23
