"""What a rebuild leaves on SQL Server's pages, by Microsoft's estimates (docs/internals/mssql.md §6)."""

import numpy as np
import pytest

from keybench.databases.mssql.engine import ENGINE
from keybench.model.table import Table
from keybench.pagemodels.mssql import records as rows


@pytest.mark.parametrize(("fill", "a_page"), [(100, 64), (99, 64), (90, 58), (80, 52), (70, 45), (1, 1)])
def test_rows_a_page(fill: int, a_page: int) -> None:
    """Num_Leaf_Pages = Num_Rows / (Rows_Per_Page - Free_Rows_Per_Page), free rows rounded down."""
    assert rows.rows_a_built_page(123, fill) == a_page
    model = ENGINE.page_model(Table("t", ENGINE.column("uniqueidentifier"), 100))
    state = model.state(1000)
    state.build(np.arange(1000), fill)
    assert state.stats().page_rows[0] == a_page
    assert state.stats().leaf_pages == -(-1000 // a_page)


@pytest.mark.parametrize(("fill", "a_page"), [(100, 322), (90, 291), (50, 162), (1, 3)])
def test_pages_above_the_leaves_have_room_for_one_more_row(fill: int, a_page: int) -> None:
    assert rows.rows_a_built_branch_page(rows.branch_row(16), fill) == a_page
    assert rows.rows_a_built_branch_page(4000, 1) == 2


@pytest.mark.parametrize(("given", "branches"), [({}, 1), ({"pad_index": True}, 4)])
def test_pad_index_leaves_free_space_above_the_leaves(given: dict, branches: int) -> None:
    model = ENGINE.page_model(Table("t", ENGINE.column("uniqueidentifier"), 1000), **given)
    state = model.state(4 * 200)
    state.rebuild(30)
    state.build(np.arange(2 * 290), 30)
    assert (state.stats().leaf_pages, state.stats().branch_pages) == (290, branches)
