"""The adapter on a server that speaks SQL Server's protocol, of whatever make: KEYBENCH_MSSQL_URL names one.

Where a server lacks ALTER DATABASE, the URL must name a database. What a server refuses is left out with its message.
`make contract DB=URL` runs the contract suite there too: every column by arrays and by bulk copy, with texts of every
width, and page figures.
"""

import os
import uuid
from collections.abc import Iterator
from contextlib import closing
from datetime import UTC, datetime, timedelta

import pytest

from keybench.databases.contract.statements import KeyedTable
from keybench.databases.contract_suite.bench import Bench, open_bench
from keybench.databases.contract_suite.keys import random
from keybench.databases.mssql import ddl
from keybench.databases.mssql.engine import ENGINE
from keybench.databases.mssql.inspection import MssqlInspector
from keybench.databases.registry import script
from keybench.errors import ServerError
from keybench.generators.core.layout import layout, layouts
from keybench.runners.planning.columns import server_keys_of
from keybench.runners.planning.trial_plan import Request, TrialPlan
from keybench.runners.servers import Target
from keybench.runners.trials.kinds import new_trial
from keybench.runners.trials.server_trial import Resources
from keybench.scenarios.files import load_scenario
from tests.databases.combs import decoded

URL = os.environ.get("KEYBENCH_MSSQL_URL", "")
NONE = "KEYBENCH_MSSQL_URL names no server that speaks SQL Server's protocol"
pytestmark = [pytest.mark.tds, pytest.mark.skipif(not URL, reason=NONE)]
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


@pytest.mark.parametrize("name", [*layouts(), *(made.name for made in ENGINE.server_keys)])
def test_a_trial_of_every_layout_ends_with_all_rows_verified(bench: Bench, name: str) -> None:
    made = server_keys_of(ENGINE, name)
    column = made.column if made else ENGINE.default_column(layout(name).kind).name
    scenario = load_scenario("quick").with_equal_writers(2)
    request = Request(("mssql",), {"mssql": "url"}, scenario, (name,), (), 600, 1, "fast", 3, 60.0)
    plan = TrialPlan(1, 0, "mssql", name, column, 100, 600)
    record = new_trial(request, plan, Resources(lambda _: Target(ENGINE, "url", bench.address))).run()
    assert record.error == ""
    assert all(one.value is not None or one.reason for one in record.readings)


def test_a_trials_table_is_inspected_and_kept_from_other_runs_and_clean(bench: Bench) -> None:
    table = bench.table(ENGINE.column("uniqueidentifier"), 30, name="keybench_inspected")
    bench.admin.create(table)
    bench.send(table, random(2_000))
    with closing(ENGINE.owned_schema(URL)) as other, closing(MssqlInspector(bench.address)) as inspector:
        assert not other.acquire()
        assert other.in_use()
        assert [line for line in other.contents() if table.name in line]
        assert other.remove() == []
        (here,) = [one for one in inspector.tables() if one.name == table.name]
        (index,) = inspector.indexes(inspector.details(here))
        sample = inspector.sample(here, index)
        assert (index.form, len(sample.values)) == ("uuid", 2_000)
        pages = inspector.pages(here, index, sample)
        assert pages.bytes or pages.missing
    bench.admin.drop(table)


@pytest.mark.parametrize(("suffix", "made_by", "exact_ms"), [("", "rt-comb-sql", 1), ("Legacy", "rt-comb-legacy", 4)])
def test_functions_read_and_make_the_keys_of_the_layouts(
    bench: Bench, suffix: str, made_by: str, exact_ms: int
) -> None:
    """They are created in keybench's own schema in place of dbo."""
    own, server = ddl.SCHEMA, bench.admin.connection  # type: ignore[attr-defined]
    names = {"vwNewGuid": "VIEW", f"NewComb{suffix}": "FUNCTION", f"DateFromComb{suffix}": "FUNCTION"}
    try:
        run(bench, *(script(ENGINE, name).replace("dbo.", f"{own}.").removesuffix("GO\n") for name in names))
        for each in random(100).data:
            key = uuid.UUID(bytes=each.tobytes())
            found = server.value(f"SELECT {own}.DateFromComb{suffix}(CAST(? AS uniqueidentifier))", str(key))
            if (ticks := decoded(made_by, key)) is None:
                assert found is None
            else:
                wanted = EPOCH + timedelta(microseconds=ticks // 10)
                assert abs(found.replace(tzinfo=UTC) - wanted) < timedelta(milliseconds=exact_ms)
        made = decoded(made_by, uuid.UUID(str(server.value(f"SELECT {own}.NewComb{suffix}()"))))
        assert abs(datetime.now(UTC) - EPOCH - timedelta(microseconds=made // 10)) < timedelta(hours=1)
    finally:
        for name, kind in reversed(names.items()):
            server.run(f"IF OBJECT_ID(N'{own}.{name}') IS NOT NULL DROP {kind} {own}.{name}")


@pytest.mark.parametrize("kind", ["creating", "switching", "rebuilding"])
def test_statements_of_advise_run(bench: Bench, kind: str) -> None:
    table = KeyedTable("keybench_advised", ENGINE.column("uniqueidentifier"), "rt-comb-sql")
    drop = "IF OBJECT_ID(N'keybench_advised') IS NOT NULL DROP TABLE keybench_advised"
    insert = "INSERT INTO keybench_advised (created_at) VALUES (SYSUTCDATETIME())"
    further = [] if kind == "creating" else [one.sql for one in getattr(ddl, kind)(table)]
    try:
        run(bench, drop, *(one.sql for one in ddl.creating(table)), insert, *further, insert)
        count = "SELECT COUNT(DISTINCT id) FROM keybench_advised"
        assert bench.admin.connection.value(count) == 2  # type: ignore[attr-defined]
    finally:
        run(bench, drop)
