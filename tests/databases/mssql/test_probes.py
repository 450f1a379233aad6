"""The readings made of the server's answers: each test gives a documented answer and the readings expected."""

import numpy as np
import pytest

from keybench.databases.contract.roles import Address, Probe
from keybench.databases.contract_suite.keys import random
from keybench.databases.mssql.admin import MssqlAdmin
from keybench.databases.mssql.engine import ENGINE
from keybench.model.byteorder import PERMUTATIONS
from keybench.model.keys import Keys
from keybench.model.metric import Metric
from keybench.model.reading import Reading
from keybench.model.table import Table
from keybench.pagemodels.contract import predict
from tests.databases.mssql.recording import Record
from tests.databases.mssql.test_statements import ANSWERS

TABLE = Table("rows", ENGINE.column("uniqueidentifier"), 100)


@pytest.fixture
def admin(record: Record, address: Address) -> MssqlAdmin:
    record.answers = {
        **ANSWERS,
        "SELECT page_count": [(101, 69.25, 98.5), (2, 50.0, 0.0), (1, 1.0, 0.0)],
        "SELECT index_id, SUM": [(1, 104 * 8192), (2, 30 * 8192)],
        "SELECT [AllocUnitName]": [
            ("keybench.rows.rows_key", "LCX_CLUSTERED", 60),
            ("keybench.rows.rows_key", "LCX_INDEX_INTERIOR", 1),
            ("keybench.rows.other_key", "LCX_INDEX_LEAF", 7),
            (None, "LCX_CLUSTERED", 9),
        ],
    }
    return MssqlAdmin(address)


def readings(admin: MssqlAdmin, record: Record) -> dict[Metric, Reading]:
    """All readings, with counters that grow between `before` and `after`."""
    probes: list[Probe] = list(admin.probes())
    record.answers["SELECT leaf_allocation_count"] = [(3, 5, 20)]
    record.answers["SELECT num_of_bytes_written"] = [(1000,)]
    for probe in probes:
        probe.before(TABLE)
    record.answers["SELECT leaf_allocation_count"] = [(103, 15, 70)]
    record.answers["SELECT num_of_bytes_written"] = [(51_000,)]
    return {reading.metric: reading for probe in probes for reading in probe.after(TABLE)}


def test_every_metric_is_read_or_explained(admin: MssqlAdmin, record: Record) -> None:
    by_metric = readings(admin, record)
    assert {metric: (reading.value, reading.origin) for metric, reading in by_metric.items()} == {
        Metric.LOG_BYTES: (50_000.0, "measured"),
        Metric.SPLIT_COUNTER: (100.0, "measured"),
        Metric.LATCH_WAITS: (10.0, "measured"),
        Metric.LATCH_WAIT_MS: (50.0, "measured"),
        Metric.APPENDS: (40.0, "derived"),
        Metric.EDGE_AND_INTERIOR_SPLITS: (60.0, "measured"),
        Metric.LEAF_PAGES: (101.0, "measured"),
        Metric.BRANCH_PAGES: (3.0, "measured"),
        Metric.LEAF_DENSITY: (69.25, "measured"),
        Metric.LEAF_NONADJACENT: (98.5, "measured"),
        Metric.BRANCH_SPLITS: (1.0, "derived"),
        Metric.INDEX_BYTES: (104 * 8192.0, "measured"),
        Metric.TABLE_BYTES: (134 * 8192.0, "measured"),
    }
    assert not set(by_metric) & set(ENGINE.absent)


def test_a_trial_that_failed_leaves_no_transaction_open(admin: MssqlAdmin, record: Record) -> None:
    for probe in admin.probes():
        probe.before(TABLE)
    record.calls.clear()
    admin.close()
    assert record.names() == ["rollback", "close", "close"]


@pytest.mark.parametrize(
    ("statement", "absent", "reason"),
    [
        ("SELECT MAX([Current LSN])", {Metric.APPENDS, Metric.EDGE_AND_INTERIOR_SPLITS},
         "the log cannot be read (SQL Server: permission denied): for sys.fn_dblog the role sysadmin is needed."),
        ("SELECT leaf_allocation_count",
         {Metric.SPLIT_COUNTER, Metric.LATCH_WAITS, Metric.LATCH_WAIT_MS},
         "the server's counters cannot be read (SQL Server: permission denied): the permission VIEW DATABASE STATE "
         "(from SQL Server 2022 on: VIEW DATABASE PERFORMANCE STATE) is needed."),
        ("SELECT num_of_bytes_written", {Metric.LOG_BYTES},
         "bytes of the log cannot be read (SQL Server: permission denied): the permission VIEW SERVER STATE is "
         "needed."),
        ("SELECT page_count",
         {Metric.LEAF_PAGES, Metric.BRANCH_PAGES, Metric.LEAF_DENSITY, Metric.LEAF_NONADJACENT, Metric.BRANCH_SPLITS,
          Metric.APPENDS, Metric.EDGE_AND_INTERIOR_SPLITS}, ""),
    ],
)  # fmt: skip
def test_a_refused_query_makes_its_metrics_absent_with_the_reason(
    admin: MssqlAdmin, record: Record, statement: str, absent: set[Metric], reason: str
) -> None:
    record.refuse[statement] = "permission denied"
    by_metric = readings(admin, record)
    missing = {metric for metric, reading in by_metric.items() if reading.value is None}
    assert missing == absent
    for metric in absent if reason else ():
        assert by_metric[metric].reason == reason


def test_no_permission_is_asked_for_a_view_that_the_server_does_not_have(admin: MssqlAdmin, record: Record) -> None:
    record.refuse["SELECT num_of_bytes_written"] = "Invalid object name 'sys.dm_io_virtual_file_stats'."
    assert readings(admin, record)[Metric.LOG_BYTES].reason == (
        "bytes of the log cannot be read (SQL Server: Invalid object name 'sys.dm_io_virtual_file_stats'.)."
    )


@pytest.mark.parametrize("column", ["uniqueidentifier", "binary16", "binary16-mssql"])
def test_stored_guids_come_back_as_the_column_encodes_them(record: Record, address: Address, column: str) -> None:
    keys, on = random(10), ENGINE.column(column)
    held = keys.data[:, PERMUTATIONS["net"]] if column == "uniqueidentifier" else on.encode(keys)
    text = held.tobytes().hex().upper()
    record.answers["SELECT STRING_AGG(CONVERT(varchar(max), CAST([key] AS binary(16)), 2)"] = [
        (text[:192],),
        (text[192:],),
    ]
    stored = np.concatenate(list(MssqlAdmin(address).stored_keys(Table("rows", on, 0))))
    assert np.array_equal(stored, on.encode(keys))


def test_stored_integers_and_texts_come_back_as_the_column_encodes_them(record: Record, address: Address) -> None:
    numbers = Keys(np.array([-(1 << 63), -1, 0, 1, (1 << 63) - 1]), "int")
    joined = numbers.data.astype(">i8").tobytes().hex().upper()
    record.answers["SELECT STRING_AGG(CONVERT(varchar(max), CAST([key] AS binary(8)), 2)"] = [(joined,)]
    admin = MssqlAdmin(address)
    (stored,) = admin.stored_keys(Table("rows", ENGINE.column("bigint"), 0))
    assert stored.tolist() == numbers.data.tolist()
    on, keys = ENGINE.column("char36"), random(3)
    record.answers["SELECT STRING_AGG(CAST([key] AS varchar(max))"] = [(on.encode(keys).tobytes().decode(),)]
    (stored,) = admin.stored_keys(Table("rows", on, 0))
    assert np.array_equal(stored, on.encode(keys))


@pytest.mark.parametrize(
    ("committed", "snapshot", "accelerated", "kind"),
    [
        (False, "OFF", False, "off"),
        (True, "OFF", False, "rcsi"),
        (False, "IN_TRANSITION_TO_OFF", False, "snapshot"),
        (False, "OFF", True, "adr"),
        (True, "ON", True, "rcsi"),  # as on Azure SQL Database
    ],
)
def test_the_row_versioning_of_the_database_is_that_of_the_model(
    record: Record, admin: MssqlAdmin, committed: bool, snapshot: str, accelerated: bool, kind: str
) -> None:
    """Whatever the options say: a database of the user's own keeps its settings."""
    row = (160, "SIMPLE", committed, snapshot, accelerated, "DISABLED", "CHECKSUM", "collation", False)
    record.answers["SELECT compatibility_level"] = [row]
    settings = admin.page_settings()
    others = {
        "beneath": "heap",
        "fill_factor": "100",
        "pad_index": "off",
        "before_2012": "off",
        "sequential_key": "off",
    }
    assert settings == {"row_versioning": kind, **others}
    usual, versioned = (
        predict(ENGINE.page_model(Table("rows", TABLE.column, 100, settings=chosen)), TABLE.column, random(9000))
        for chosen in ({}, settings)
    )
    assert (versioned.leaf_pages > usual.leaf_pages) == (kind != "off")
