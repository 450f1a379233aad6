"""Tables and the indexes measured besides the key's; load paths; columns."""

import uuid

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from keybench.databases.registry import engine
from keybench.errors import UsageError
from keybench.generators.core.layout import layout
from keybench.model.byteorder import rank
from keybench.model.column import Column
from keybench.model.keys import Keys, Kind
from keybench.model.load_path import LOAD_PATHS, LoadPath, load_path
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


@pytest.mark.parametrize("path", LOAD_PATHS.values(), ids=LOAD_PATHS)
def test_a_path_that_loses_the_order_of_arrival_gives_its_reasons(path: LoadPath) -> None:
    said = (path.warning, path.label, path.no_prediction, path.no_position, path.no_claim, path.refuses_model)
    assert all(said) if not path.in_order else not any(said)
    assert path.description


def test_an_unknown_path_lists_the_known_ones() -> None:
    assert load_path("rows").in_order
    with pytest.raises(UsageError, match=r"^unknown load path 'bulky'\. Did you mean bulk\? Known: bulk, rows\.$"):
        load_path("bulky")


GUID: frozenset[Kind] = frozenset({"uuid"})

example = uuid.UUID("00112233-4455-6677-8899-aabbccddeeff")


def keys_of(*guids: uuid.UUID) -> Keys:
    return Keys(np.frombuffer(b"".join(guid.bytes for guid in guids), np.uint8).reshape(-1, 16), "uuid")


@given(st.lists(st.uuids(), min_size=1, max_size=50, unique=True))
def test_text_is_what_uuid_prints_and_sorts_as_the_bytes_do(guids: list[uuid.UUID]) -> None:
    keys = keys_of(*guids)
    text = Column("c", "T", GUID, "rfc", "text").encode(keys)
    assert [bytes(row).decode() for row in text] == [str(guid) for guid in guids]
    assert [str(guids[i]) for i in np.argsort(rank(keys, "rfc"))] == sorted(map(str, guids))


def test_a_column_accepts_its_kinds_alone() -> None:
    column = Column("c", "T", GUID, "rfc")
    assert column.accepts(keys_of(example, example)).tolist() == [True, True]
    assert column.accepts(Keys(np.arange(3), "int")).tolist() == [False] * 3
    assert column.accepts(keys_of()).tolist() == []


def test_a_column_refuses_what_its_order_refuses() -> None:
    guids = np.zeros((3, 16), np.uint8)
    guids[:, 6], guids[:, 8] = (0x7F, 0x80, 0x80), (0x01, 0x80, 0x81)
    column = Column("uuid", "uuid", frozenset({"uuid"}), "mariadb")
    assert column.accepts(Keys(guids, "uuid")).tolist() == [True, False, True]
    assert column.refusal == (
        "MariaDB's uuid takes no GUID whose seventh byte is 0x80 or more and whose ninth is 0x01 to 0x80"
    )
    assert Column("binary16", "binary(16)", frozenset({"uuid"}), "rfc").refusal == ""


def test_a_column_of_32_bits_accepts_what_fits_and_layouts_that_always_do() -> None:
    column = Column("int", "int", frozenset({"int"}), "rfc", "int", width=4)
    values = [-(2**63), -(2**31) - 1, -(2**31), -1, 0, 2**31 - 1, 2**31, 2**63 - 1]
    assert column.accepts(Keys(np.array(values), "int")).tolist() == [False] * 2 + [True] * 4 + [False] * 2
    assert column.refusal == "int takes integers of 32 bits"
    for name, fits in (("int-identity", True), ("bigint-identity", False), ("snowflake", False)):
        assert column.accepts_all(layout(name).shared_bits()) == fits
    wide = Column("bigint", "bigint", frozenset({"int"}), "rfc", "int", width=8)
    assert wide.accepts(Keys(np.array(values), "int")).all()
    assert wide.accepts_all(layout("snowflake").shared_bits())
    assert wide.refusal == ""
