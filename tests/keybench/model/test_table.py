"""The tables of a trial, and the indexes measured besides the key's."""

from keybench.databases.registry import engine
from keybench.model.subject import CLUSTERED, PARENT
from keybench.model.table import Table

COLUMN = engine("sqlite").column("binary16")


def test_a_table_with_its_key_alone() -> None:
    for role in ("clustered", "nonclustered"):
        table = Table("rows", COLUMN, 10, role)
        assert (table.family, table.other_indexes, table.parent, table.by_date) == ((table,), {}, None, False)


def test_a_table_by_date() -> None:
    table = Table("rows", COLUMN, 10, "by-date")
    assert (table.family, table.by_date) == ((table,), True)
    beside = table.other_indexes[CLUSTERED]
    assert (beside.measures_rows, beside.name, beside.other_indexes) == (True, "rows", {})


def test_a_child_table_comes_after_its_parent() -> None:
    table = Table("rows", COLUMN, 10, "fk", children=3)
    parent, child = table.family
    assert child is table
    assert parent == Table("rows_parent", COLUMN, 10, "clustered", child="rows")
    assert table.other_indexes == {PARENT: parent}
    assert (parent.family, parent.other_indexes) == ((parent,), {})
