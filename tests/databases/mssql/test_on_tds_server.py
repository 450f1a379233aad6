"""The adapter on a server that speaks SQL Server's protocol, of whatever make: KEYBENCH_MSSQL_URL names one.

Where a server of another make lacks a statement, the URL must name a database. What a server refuses is left out with
its own message. `KEYBENCH_CONTRACT=URL` runs the contract suite on the same server, page figures among its tests.
"""

import os
import uuid
from collections.abc import Iterator
from contextlib import closing
from datetime import UTC, datetime, timedelta

import numpy as np
import pytest

from keybench.databases.contract.statements import KeyedTable
from keybench.databases.contract_suite.bench import Bench, accepted, open_bench
from keybench.databases.contract_suite.keys import random
from keybench.databases.mssql import ddl
from keybench.databases.mssql.engine import ENGINE
from keybench.databases.mssql.inspection import MssqlInspector
from keybench.databases.registry import script
from keybench.errors import ServerError
from keybench.generators.core.layout import layout, layouts
from keybench.model.payload import Payload
from keybench.runners.planning.columns import server_keys_of
from keybench.runners.planning.trial_plan import Request, TrialPlan
from keybench.runners.servers import Target
from keybench.runners.trials.after_load import check_keys
from keybench.runners.trials.kinds import new_trial
from keybench.runners.trials.server_trial import Resources
from keybench.scenarios.files import load_scenario
from tests.databases.combs import decoded

URL = os.environ.get("KEYBENCH_MSSQL_URL", "")
pytestmark = [
    pytest.mark.tds,
    pytest.mark.skipif(not URL, reason="KEYBENCH_MSSQL_URL names no server that speaks SQL Server's protocol"),
]
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


@pytest.fixture(scope="module")
def bench() -> Iterator[Bench]:
    server = ENGINE.provision(URL, ENGINE.settings("fast", "small"))
    try:
        yield from open_bench(ENGINE, server.start())
    finally:
        server.stop()
    with closing(ENGINE.owned_schema(URL)) as left:
        assert left.contents() == []


def run(bench: Bench, *statements: str) -> None:
    """Runs the statements. The test is skipped, with the server's message, if it refuses one."""
    for statement in statements:
        try:
            bench.admin.connection.run(statement)  # type: ignore[attr-defined]
        except ServerError as refused:
            pytest.skip(str(refused))


@pytest.mark.parametrize("payload", [0, 100, 4_000, 4_001, 8_001, 20_000])
@pytest.mark.parametrize("path", ENGINE.paths)
@pytest.mark.parametrize("name", [column.name for column in ENGINE.columns])
def test_rows_of_every_width_reach_every_column_by_every_path(bench: Bench, name: str, path: str, payload: int) -> None:
    if reason := ENGINE.refuses(path, URL):  # type: ignore[arg-type]
        pytest.skip(reason)
    sized, keys = accepted(ENGINE.column(name), random(300))
    table = bench.table(sized, payload)
    bench.admin.create(table)
    with closing(bench.session(table)) as session:
        prepare = session.prepare_in_bulk if path == "bulk" else session.prepare  # type: ignore[attr-defined]
        try:
            sent = [session.send(batch) for batch in prepare(keys, Payload(payload), 7, 100)]
        except ServerError as error:
            if "the bulk copy of mssql-python broke off" in str(error):
                pytest.skip(str(error))
            raise
        assert sum(sent) == len(keys)
        assert session.find(session.prepare_keys(keys[:1])[0]) == 1
    check_keys(sized.encode(keys), bench.admin.stored_keys(table))


@pytest.mark.parametrize("name", [*layouts(), *(made.name for made in ENGINE.server_keys)])
def test_a_trial_of_every_layout_ends_with_all_rows_verified(bench: Bench, name: str) -> None:
    made = server_keys_of(ENGINE, name)
    column = made.column if made else ENGINE.default_column(layout(name).kind).name
    request = Request(
        ("mssql",), {"mssql": "url"}, load_scenario("quick").with_equal_writers(2), (name,), (), 600, 1, "fast", 3, 60.0
    )
    plan = TrialPlan(1, 0, "mssql", name, column, 100, 600)
    record = new_trial(request, plan, Resources(lambda _: Target(ENGINE, "url", bench.address))).run()
    assert record.error == ""
    assert all(one.value is not None or one.reason for one in record.readings)


def test_a_second_run_is_kept_out(bench: Bench) -> None:
    with closing(ENGINE.owned_schema(URL)) as other:
        assert not other.acquire()
        assert other.in_use()
        assert other.remove() == []


def test_a_trials_table_is_seen_by_inspect_and_listed_by_clean(bench: Bench) -> None:
    table = bench.table(ENGINE.column("uniqueidentifier"), 30, name="keybench_inspected")
    bench.admin.create(table)
    bench.send(table, random(2_000))
    with closing(ENGINE.owned_schema(URL)) as left, closing(MssqlInspector(bench.address)) as inspector:
        assert [line for line in left.contents() if "keybench_inspected" in line]
        (here,) = [one for one in inspector.tables() if one.name == table.name]
        (index,) = inspector.indexes(inspector.details(here))
        sample = inspector.sample(here, index)
        assert (index.form, len(sample.values)) == ("uuid", 2_000)
        pages = inspector.pages(here, index, sample)
        assert pages.bytes > 0 or pages.missing
    bench.admin.drop(table)


def test_functions_read_and_make_the_keys_of_the_layouts(bench: Bench) -> None:
    """They are created in keybench's own schema in place of dbo."""
    names = ("vwNewGuid", "NewComb", "NewCombLegacy", "DateFromComb", "DateFromCombLegacy")
    query = bench.admin.connection  # type: ignore[attr-defined]
    try:
        for name in names:
            run(bench, script(ENGINE, name).replace("dbo.", f"{ddl.SCHEMA}.").removesuffix("GO\n"))
        for suffix, made_by in (("", "rt-comb-sql"), ("Legacy", "rt-comb-legacy")):
            for each in random(100).data:
                key = uuid.UUID(bytes=each.tobytes())
                ticks = decoded(made_by, key)
                found = query.value(f"SELECT {ddl.SCHEMA}.DateFromComb{suffix}(CAST(? AS uniqueidentifier))", str(key))
                assert (found is None) == (ticks is None)
                if ticks is not None:  # a datetime has 1/300 s
                    wanted = EPOCH + timedelta(microseconds=ticks // 10)
                    assert abs(found.replace(tzinfo=UTC) - wanted) < timedelta(milliseconds=4 if suffix else 1)
            made = [query.value(f"SELECT {ddl.SCHEMA}.NewComb{suffix}()") for _ in range(20)]
            now = decoded(made_by, uuid.UUID(str(made[-1])))
            assert len(set(made)) == 20
            assert now is not None
            assert abs(datetime.now(UTC) - EPOCH - timedelta(microseconds=now // 10)) < timedelta(hours=1)
    finally:
        for name in reversed(names):
            kind = "VIEW" if name == "vwNewGuid" else "FUNCTION"
            query.run(f"IF OBJECT_ID(N'{ddl.SCHEMA}.{name}') IS NOT NULL DROP {kind} {ddl.SCHEMA}.{name}")


@pytest.mark.parametrize("kind", ["creating", "switching", "rebuilding"])
def test_statements_of_advise_run(bench: Bench, kind: str) -> None:
    table = KeyedTable("keybench_advised", ENGINE.column("uniqueidentifier"), "rt-comb-sql")
    drop = "IF OBJECT_ID(N'keybench_advised') IS NOT NULL DROP TABLE keybench_advised"
    run(bench, drop)
    try:
        run(bench, *(one.sql for one in ddl.creating(table)))
        insert = "INSERT INTO keybench_advised (created_at) VALUES (SYSUTCDATETIME())"
        run(bench, insert)
        if kind != "creating":
            run(bench, *(one.sql for one in getattr(ddl, kind)(table)), insert)
        keys = bench.admin.connection.rows("SELECT id FROM keybench_advised")  # type: ignore[attr-defined]
        assert len(np.unique([str(key) for (key,) in keys])) == (1 if kind == "creating" else 2)
    finally:
        run(bench, drop)
