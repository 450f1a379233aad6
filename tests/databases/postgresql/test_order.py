"""Each column's stored values and their order on the server, compared with `byteorder`."""

import pytest

from keybench.databases.contract_suite.keys import random, taken_by
from keybench.databases.postgresql import ddl as layout
from keybench.databases.postgresql.engine import ENGINE
from keybench.model.table import Table
from keybench.pagemodels.postgresql.records import entry_bytes, heap_row_bytes
from tests.databases.loading import send


@pytest.mark.parametrize("column", [column.name for column in ENGINE.columns])
@pytest.mark.parametrize("payload", [0, 126, 127, 1000])
def test_sizes_of_rows_and_entries_are_the_servers(admin, column, payload) -> None:
    sized, keys = taken_by(ENGINE.column(column), random(400))
    on = Table("trial", sized, payload)
    admin.create(on)
    send(admin.address, on, keys)
    entry, row = entry_bytes(on.column), heap_row_bytes(on.column, payload)
    # Counts only pages that hold rows: since PostgreSQL 16 COPY extends a table in advance, by up to 64 pages.
    pages = admin.value(f"SELECT count(DISTINCT (ctid::text::point)[0]) FROM {layout.name(on)}")
    assert pages == -(-len(keys) // ((8192 - 24) // row))
    datum = admin.value(f"SELECT max(pg_column_size(key)) FROM {layout.name(on)}")
    assert entry == -(-(8 + datum) // 8) * 8
    index, everything = ENGINE.bytes_per_row(on.column, payload, "clustered")
    assert entry + 4 < index < everything
    assert everything > row + index
