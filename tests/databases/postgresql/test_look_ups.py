"""Pages that look-ups read right after a load are those that the model expects."""

from __future__ import annotations

from uuid import UUID

import numpy as np
import pytest
from numpy.typing import NDArray

from keybench.databases.contract_suite.servers import Base
from keybench.databases.postgresql.admin import PostgresAdmin
from keybench.databases.postgresql.engine import ENGINE
from keybench.model.byteorder import sort_words
from keybench.model.keys import Keys
from keybench.model.table import Table
from keybench.pagemodels.costs.contract import Load, PredictsCost, Server
from keybench.pagemodels.ranking import ranked
from tests.databases.postgresql.load_counters import MAX_WAL_SIZE, send, settled, small_server
from tests.databases.postgresql.test_load_cost_layouts import LAYOUTS, PAYLOAD, arrivals, planned

ROWS = 1_200_000
CACHE = 16 << 20
LOOK_UPS = 150
"""They read at most 300 pages into 2,048 buffers."""
BRANCHES = 60
"""More than the index has branch pages. After so many look-ups those of old rows are in the cache too, where keys
ascend: the model leaves them out."""


def pages_read(admin: PostgresAdmin, keys: Keys) -> float:
    """Pages of the index and the heap that a look-up of one of these keys read, each a query of its own."""
    statement = 'SELECT payload FROM keybench."small" WHERE key = %s'
    values = [UUID(bytes=key.tobytes()) for key in keys.data]
    (plan,) = admin.rows(f"EXPLAIN {statement}", [values[0]])[0]
    assert plan.startswith("Index Scan using")
    before = settled(admin)
    for value in values:
        assert len(admin.rows(statement, [value])) == 1
    after = settled(admin)
    return (after.index - before.index + after.heap - before.heap) / len(values)


def of_each_age(random: np.random.Generator, first: int, end: int, rows: int = LOOK_UPS) -> NDArray[np.int64]:
    """Rows from `first` to `end` at even distances, in random order. So hardly any two are on one page of the heap,
    which the second one would find in the cache."""
    found: NDArray[np.int64] = random.permutation(np.linspace(first, end - 1, rows).astype(np.int64))
    return found


@pytest.mark.long
@pytest.mark.parametrize("kind", ["embedded", "local"])
@pytest.mark.parametrize("layout", ["uuid-v4", "uuid-v7", "morris"])
def test_look_ups_read_as_many_pages_as_the_model_says(base: Base, layout: str, kind: str) -> None:
    rows_per_tx = 1000 if LAYOUTS[layout] == "quick" else 100
    sent = arrivals(planned(LAYOUTS[layout], layout, ROWS), rows_per_tx)
    table = Table("small", ENGINE.default_column("uuid"), PAYLOAD)
    random = np.random.default_rng(18)
    newest, of_any = (of_each_age(random, first, ROWS) for first in (ROWS - ROWS // 100, 0))
    with small_server(kind, shared_buffers=f"{CACHE >> 10}kB") as admin:
        admin.create(table)
        admin.checkpoint()
        begin = settled(admin)
        send(admin, table, sent, sent.transactions())
        read_newest = pages_read(admin, sent.keys[newest])
        pages_read(admin, sent.keys[of_each_age(random, 0, ROWS, BRANCHES)])
        read_any = pages_read(admin, sent.keys[of_any])
    model = ENGINE.page_model(table)
    assert isinstance(model, PredictsCost)
    load = Load(ranked(sort_words(sent.keys, table.column.order)), [ROWS], rows_per_tx, sent.writers)
    server = Server(cache_bytes=CACHE, checkpoint_bytes=MAX_WAL_SIZE, log_position=begin.log)
    expected = model.load_cost(load, server).look_ups
    assert expected is not None
    print(f"newest: {read_newest:.3f} / {expected.newest:.3f}  any: {read_any:.3f} / {expected.any_row:.3f}")
    assert read_newest == pytest.approx(expected.newest, rel=0.05, abs=0.03)
    assert read_any == pytest.approx(expected.any_row, rel=0.05, abs=0.03)
