"""MariaDB with a small buffer pool reads the pages and writes the log that the model expects."""

from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace

import numpy as np
import pytest
from numpy.typing import NDArray

from benchmarks import streams
from keybench.advice.row_cost import rows_from_which
from keybench.databases.mariadb import ENGINE
from keybench.databases.mysql.admin import MySqlAdmin
from keybench.model.byteorder import sort_words, stored
from keybench.model.keys import Keys
from keybench.model.payload import Payload
from keybench.model.table import Table
from keybench.pagemodels.costs.contract import Load, LoadCost, Server, shared_bytes
from keybench.pagemodels.ranking import ranked

FIFTHS = 5
_INDEX = "buffer_page_read_index_leaf", "buffer_page_read_index_non_leaf"

pytestmark = pytest.mark.skipif(bool(ENGINE.missing("local")), reason=ENGINE.missing("local"))


@pytest.fixture
def small(request: pytest.FixtureRequest) -> Iterator[tuple[MySqlAdmin, int]]:
    """A new server with a buffer pool of so many MB, and the bytes of that pool."""
    usual = ENGINE.settings("durable", "small")
    values = {**usual.values, "innodb_buffer_pool_size": f"{request.param}M"}
    provision = ENGINE.provision("local", replace(usual, values=values, cache_bytes=request.param << 20))
    try:
        with closing(MySqlAdmin(provision.start())) as admin:
            admin.rows("SET GLOBAL innodb_monitor_enable = 'module_buffer_page'")
            yield admin, request.param << 20
    finally:
        provision.stop()


def keys_of(stream: str, rows: int) -> Keys:
    return streams.keys(streams.STREAMS[stream](rows), ENGINE.column("binary16"))


def both(
    small: tuple[MySqlAdmin, int], keys: Keys, table: Table, parts: int = FIFTHS
) -> tuple[NDArray[np.int64], LoadCost]:
    """In each part, by the server: index pages read and log bytes, (2, parts). And the model's cost."""
    admin, cache = small
    admin.create(table)
    part = len(keys) // parts
    counted = [_counters(admin)]
    for first in range(0, len(keys), part):
        with closing(ENGINE.session(admin.address, table)) as session:
            for batch in session.prepare(keys[first : first + part], Payload(table.payload), first, 1000):
                session.send(batch)
        counted.append(_counters(admin))
    model = ENGINE.page_model(table)
    ends = [part * (i + 1) for i in range(parts)]
    ranks = ranked(sort_words(keys, table.column.order))
    shared = shared_bytes(stored(keys, table.column.order), ranks, ends)
    return np.diff(counted, axis=0).T, model.load_cost(
        Load(ranks, ends, 1000, shared=shared), Server(cache_bytes=cache)
    )


def _counters(admin: MySqlAdmin) -> list[int]:
    of_index = f"SELECT SUM(count) FROM information_schema.innodb_metrics WHERE name IN {_INDEX}"
    return [int(admin.value(of_index)), admin.status("Innodb_os_log_written")]


def assert_close(real: NDArray[np.int64], cost: LoadCost, rows: int) -> None:
    """Asserts that reads are within 10 %, or 0.02 a row, over the whole load, and within 10 %, or 0.05 a row, in each
    fifth: they begin earlier on the server, whose own pages fill a part of the pool. The log is within 3 %."""
    assert cost.log is not None
    assert cost.read.index.sum() == pytest.approx(real[0].sum(), rel=0.1, abs=0.02 * rows)
    assert cost.read.index.tolist() == pytest.approx(real[0].tolist(), rel=0.1, abs=0.05 * rows / len(real[0]))
    assert cost.log.bytes.tolist() == pytest.approx(real[1].tolist(), rel=0.03)


@pytest.mark.parametrize("small", [64], indirect=True)
def test_random_keys_cost_what_the_model_expects(small: tuple[MySqlAdmin, int]) -> None:
    rows = 50_000  # 150 MB
    real, cost = both(small, keys_of("random", rows), Table("small", ENGINE.column("binary16"), 2000))
    assert real[0].sum() > rows / 4
    assert_close(real, cost, rows)


@pytest.mark.long
@pytest.mark.parametrize("small", [24, 32], indirect=True)
@pytest.mark.parametrize("stream", ["random", "increasing", "4 lagging by 10 %"])
def test_many_rows_cost_what_the_model_expects(small: tuple[MySqlAdmin, int], stream: str) -> None:
    rows = 600_000  # at least 80 MB, and 118 MB of random keys
    assert_close(*both(small, keys_of(stream, rows), Table("small", ENGINE.column("binary16"), 100)), rows)


@pytest.mark.long
@pytest.mark.parametrize("small", [64], indirect=True)
def test_a_row_costs_a_page_read_from_the_number_of_rows_that_the_model_says(small: tuple[MySqlAdmin, int]) -> None:
    rows, parts = 800_000, 32
    real, cost = both(small, keys_of("random", rows), Table("small", ENGINE.column("binary16"), 100), parts)
    ends = np.arange(1, parts + 1) * (rows // parts)
    knees = []
    for index in (real[0], cost.read.index):
        each = index / (rows // parts)
        knees.append([rows_from_which(each, ends, reads) for reads in (0.05, 0.25, 0.5)])
    assert knees[1] == pytest.approx(knees[0], rel=0.1)
    assert (knees[0][0] or 0) > 150_000
