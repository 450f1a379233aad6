"""PostgreSQL: what is in a database is named, also for a role that may only SELECT, and nothing is written."""

import shlex
import time
from collections.abc import Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from typing import Any

import psutil
import psycopg
import pytest

from keybench.advice import command as advise
from keybench.advice.inspection import command
from keybench.advice.inspection.advised import advice
from keybench.advice.inspection.findings import TableFinding, look
from keybench.databases.contract.roles import Address
from keybench.databases.contract_suite.servers import Servers
from keybench.databases.postgresql import inspection
from keybench.databases.postgresql.connection import address_of, conninfo
from keybench.databases.postgresql.engine import ENGINE
from keybench.databases.postgresql.inspection import PostgresInspector
from keybench.errors import EnvironmentMissing, ServerError, UsageError
from tests.advice.inspection.next_rows import assert_as_forecast
from tests.advice.inspection.planted import FEW, LONG, NOW, tables
from tests.advice.inspection.planting import (
    STRANGE,
    ansi,
    assert_named,
    assert_strange_names_are_shown,
    inspected,
    into_postgresql,
)
from tests.errors import raised
from tests.parameters import first

DATABASE = "inspected"
ADVISED = (*FEW, "Upper Case", "i_negative", "i_empty", "f_nanoid", "f_objectid", "s_v1")
"""Tables that the long test of advice takes: a few seconds each."""


@dataclass(frozen=True)
class Shop:
    """A database on a private server, with a role `reader` that may SELECT and one, `nobody`, that may not."""

    address: Address
    owner: psycopg.Connection[Any]
    extensions: bool

    def url(self, user: str = "") -> str:
        at = self.address.parameters
        return f"postgresql://{user or at['user']}@/{DATABASE}?host={at['host']}&port={at.get('port', '5432')}"

    def inspected(self, capsys: pytest.CaptureFixture[str], user: str = "", *options: str) -> dict[str, Any]:
        return inspected(self.url(user), capsys, *options)


@pytest.fixture(params=["local", "embedded"])
def shop(request: pytest.FixtureRequest, servers: Servers) -> Iterator[Shop]:
    address = servers.address(ENGINE, request.param)
    with psycopg.connect(conninfo(address), autocommit=True) as admin:
        admin.execute(f"DROP DATABASE IF EXISTS {DATABASE}")
        for role in ("reader", "nobody"):
            if not admin.execute("SELECT 1 FROM pg_roles WHERE rolname = %s", [role]).fetchone():
                admin.execute(f"CREATE ROLE {role} LOGIN")  # type: ignore[call-overload]
        admin.execute(f"CREATE DATABASE {DATABASE}")
        found = admin.execute(
            "SELECT count(*) FROM pg_available_extensions WHERE name IN ('pageinspect', 'pgstattuple')"
        )
        extensions = found.fetchone() == (2,)
        with psycopg.connect(f"{conninfo(address)} dbname={DATABASE}", autocommit=True) as owner:
            owner.execute("ALTER DEFAULT PRIVILEGES GRANT SELECT ON TABLES TO reader")
            yield Shop(address, owner, extensions)
        admin.execute(f"DROP DATABASE {DATABASE}")


def state(owner: psycopg.Connection[Any]) -> tuple[object, ...]:
    """What any write would change: the next transaction, tables, rows that were changed, temporary files."""
    owner.execute("SELECT pg_stat_force_next_flush()")
    owner.execute("SELECT pg_sleep(0.05)")
    return (
        owner.execute("SELECT txid_snapshot_xmax(txid_current_snapshot()), (SELECT count(*) FROM pg_class)").fetchone(),
        owner.execute("SELECT sum(n_tup_ins), sum(n_tup_upd), sum(n_tup_del) FROM pg_stat_user_tables").fetchone(),
        owner.execute(
            "SELECT temp_files, temp_bytes FROM pg_stat_database WHERE datname = current_database()"
        ).fetchone(),
    )


def truth(owner: psycopg.Connection[Any]) -> dict[str, float]:
    """The density of each index by pgstatindex."""
    owner.execute("CREATE EXTENSION IF NOT EXISTS pgstattuple; CREATE EXTENSION IF NOT EXISTS pageinspect")
    rows = owner.execute(
        "SELECT relname, (pgstatindex(oid)).avg_leaf_density FROM pg_class "
        "WHERE relkind = 'i' AND relnamespace = 'public'::regnamespace"
    )
    return {name: float(density) for name, density in rows if density == density}  # an empty index has none


@pytest.mark.parametrize(
    ("shop", "rows"), [("local", 2_000), pytest.param("local", 4_000, marks=pytest.mark.long)], indirect=["shop"]
)
def test_planted_layouts_are_named_with_the_density_of_pgstatindex(shop: Shop, rows, capsys) -> None:
    if not shop.extensions:
        pytest.skip("the installed PostgreSQL has no pageinspect: apt-get install postgresql-contrib")
    planted = tables(rows)
    if rows < LONG:
        planted = {name: planted[name] for name in FEW}
    into_postgresql(shop.owner, planted)
    densities = truth(shop.owner)
    before = state(shop.owner)
    record = shop.inspected(capsys, "", "--seconds", "600")
    assert state(shop.owner) == before
    assert_named(record, planted)
    seen = {one["name"]: one for table in record["tables"] for one in table["indexes"]}
    known = {name: one["density"] for name, one in seen.items() if one["sampled"]}
    assert known == pytest.approx(densities, abs=0.1)
    assert {seen[name]["density_origin"] for name in known} == {"measured"}
    by_name = {one["name"]: one for one in record["tables"]}
    switches = by_name["public.t_switched"]["indexes"][0]["switches"]
    assert [(one["before"], one["time"][:7], one["clean"]) for one in switches] == [("uuid-v4", "2026-05", True)]
    assert by_name["public.t_v4"]["indexes"][0]["ascending"] < 0.1
    assert by_name["public.t_v7"]["indexes"][0]["ascending"] > 0.99


@pytest.mark.parametrize("shop", ["embedded"], indirect=True)
@pytest.mark.parametrize("times", first(1, [1, 100_000]))
def test_the_advice_is_that_of_advise(shop: Shop, times: int, capsys) -> None:
    planted = {name: one for name, one in tables(4_000).items() if name in (FEW if times == 1 else ADVISED)}
    into_postgresql(shop.owner, planted)
    with closing(PostgresInspector(address_of(shop.url(), {}))) as inspector:
        findings, version = look(inspector, "", NOW, 600).tables, inspector.about().version
    replies = {one.table.name: advice(ENGINE, version, larger(one, times)) for one in findings}
    without = {"i_random", "i_empty", "u_empty", "i_one"}
    assert {name for name, one in replies.items() if one is None} == {*planted} & without
    for name, reply in replies.items():
        if reply is None or not reply.command or reply.text.startswith("Rebuild the index "):
            continue
        try:
            advise.app(shlex.split(reply.command)[2:], standalone_mode=False)
            shown = " ".join(capsys.readouterr().out.split())
        except UsageError as why:
            shown = f"keybench advise has no answer: {why}"
        shown = shown.removeprefix("At this size it does not matter. ")
        assert shown.startswith("Leave it: " if times == 1 else " ".join(reply.text.split())), (name, reply)


def larger(one: TableFinding, times: int) -> TableFinding:
    """The finding on a table with so many times as many rows."""
    indexes = [replace(each, pages=replace(each.pages, bytes=times * (each.pages.bytes or 0))) for each in one.indexes]
    return replace(one, table=replace(one.table, rows=times * (one.table.rows or 0)), indexes=tuple(indexes))


@pytest.mark.long
def test_a_role_that_may_only_select_learns_as_much_from_sizes(shop: Shop, capsys) -> None:
    planted = {name: one for name, one in tables(50_000).items() if name[:2] in {"t_", "c_"}}
    into_postgresql(shop.owner, planted)
    record = shop.inspected(capsys, "reader", "--seconds", "600")
    assert any("cannot look into index pages" in text for text in record["unknown"])
    assert_named(record, planted)
    densities = truth(shop.owner) if shop.extensions else {}
    for table in record["tables"]:
        for index in table["indexes"]:
            if index["density"] is None:
                assert index["missing"]
            elif densities:
                assert index["density"] == pytest.approx(densities[index["name"]], abs=1), index["name"]


@pytest.mark.parametrize("shop", ["embedded"], indirect=True)
def test_what_cannot_be_inspected_is_said_in_a_sentence(shop: Shop, capsys) -> None:
    shop.owner.execute(
        "CREATE SCHEMA own; CREATE TABLE own.secret (id uuid PRIMARY KEY);"
        "CREATE TABLE nothing (id uuid PRIMARY KEY); CREATE VIEW seen AS SELECT * FROM nothing;"
        "CREATE TABLE pairs (a uuid, b int, PRIMARY KEY (a, b));"
        "INSERT INTO pairs SELECT gen_random_uuid(), n FROM generate_series(1, 2000) n;"
        "CREATE TABLE parts (at int, id uuid, PRIMARY KEY (id, at)) PARTITION BY RANGE (at);"
        "CREATE TABLE parts_1 PARTITION OF parts FOR VALUES FROM (0) TO (1000);"
        "CREATE TABLE parts_2 PARTITION OF parts FOR VALUES FROM (1000) TO (3000);"
        "INSERT INTO parts SELECT n, gen_random_uuid() FROM generate_series(0, 2999) n; ANALYZE"
    )
    for table, message in {
        "seen": "public.seen cannot be inspected: a view has no keys of its own: name its tables.",
        "piars": "unknown table 'piars'. Did you mean parts or pairs",
    }.items():
        said = raised(UsageError, shop.inspected, capsys, "reader", "--table", table)
        assert said.startswith(message)
    said = raised(EnvironmentMissing, shop.inspected, capsys, "reader", "--table", "secret")
    assert said.startswith("own.secret cannot be inspected: this user may not read it: GRANT SELECT")
    found = {one["name"]: one for one in shop.inspected(capsys, "reader")["tables"]}
    assert found["own.secret"]["finding"].startswith(
        "own.secret was not looked at: this user may not read it: GRANT SELECT"
    )
    assert found["public.nothing"]["finding"] == "public.nothing is empty: there are no keys to look at."
    assert "its primary key (a, b) is uuid-v4, then bigint-identity" in found["public.pairs"]["finding"]
    assert found["public.parts"]["partitions"] == 2
    assert found["public.parts"]["rows"] == found["public.parts_1"]["rows"] + found["public.parts_2"]["rows"] == 3000
    command.app([shop.url("reader")], standalone_mode=False)
    text = " ".join(capsys.readouterr().out.split())
    assert "(1 not looked at) with" in text
    assert "Not looked at: own.secret. own.secret: this user may not read it: GRANT SELECT ON own.secret" in text
    there = (f"public.{name}" for name in ("nothing", "pairs", "parts", "parts_1", "parts_2"))
    assert set(found) == {"own.secret", *there}


@pytest.mark.parametrize("shop", ["embedded"], indirect=True)
@pytest.mark.parametrize("statement", ["ALTER TABLE shut ADD COLUMN b int", "REINDEX INDEX shut_pkey"])
def test_a_table_that_is_locked_is_named_and_the_others_are_looked_at(shop: Shop, statement: str, capsys) -> None:
    for name in ("shut", "free"):
        shop.owner.execute(
            f"CREATE TABLE {name} (id uuid PRIMARY KEY);"  # type: ignore[arg-type]
            f"INSERT INTO {name} SELECT gen_random_uuid() FROM generate_series(1, 2000); ANALYZE {name}"
        )
    with shop.owner.transaction():
        shop.owner.execute(statement)  # type: ignore[call-overload]
        found = {one["name"]: one for one in shop.inspected(capsys)["tables"]}
    why = "it is locked, as by ALTER TABLE: look again when that transaction has ended."
    assert found["public.shut"]["refused"] == why
    assert found["public.shut"]["finding"] == f"public.shut was not looked at: {why}"
    assert "its primary key id is uuid-v4" in found["public.free"]["finding"]


@pytest.mark.parametrize("shop", ["embedded"], indirect=True)
def test_lower_limits_of_the_administrators_stay(shop: Shop, capsys) -> None:
    shop.owner.execute("ALTER ROLE reader SET statement_timeout = '3s'; ALTER ROLE reader SET lock_timeout = '250ms'")
    try:
        (promise, _) = shop.inspected(capsys, "reader")["promises"]
        with closing(PostgresInspector(address_of(shop.url("reader"), {}))) as inspector:
            assert inspector._server.value("SHOW statement_timeout") == "3s"
    finally:
        shop.owner.execute("ALTER ROLE reader RESET ALL")
    assert promise == (
        "Each transaction is read-only; no statement runs for more than 3 s, or waits for a lock for more than 0.25 s."
    )
    assert "for more than 10 s, or waits for a lock for more than 1 s" in shop.inspected(capsys)["promises"][0]


@pytest.mark.parametrize("shop", ["embedded"], indirect=True)
def test_rows_that_row_security_hides_are_no_missing_key(shop: Shop, capsys) -> None:
    shop.owner.execute(
        "CREATE TABLE hidden (id uuid PRIMARY KEY); ALTER TABLE hidden ENABLE ROW LEVEL SECURITY;"
        "INSERT INTO hidden SELECT gen_random_uuid() FROM generate_series(1, 2000); ANALYZE hidden"
    )
    (found,) = shop.inspected(capsys, "reader")["tables"]
    assert found["finding"] == (
        "public.hidden has about 2,000 rows in 200 KB, and keybench can say nothing of its keys: row security hides "
        "rows from this user."
    )


@pytest.mark.parametrize("shop", ["embedded"], indirect=True)
def test_a_server_that_goes_silent_is_not_waited_for(shop: Shop, monkeypatch) -> None:
    monkeypatch.setattr(inspection, "STATEMENT_SECONDS", 0.5)
    monkeypatch.setattr(inspection, "SILENT_SECONDS", 0.5)
    with closing(PostgresInspector(address_of(shop.url(), {}))) as inspector:
        server = psutil.Process(int(inspector._server.value("SELECT pg_backend_pid()")))
        server.suspend()
        try:
            began = time.monotonic()
            with pytest.raises(ServerError, match=r"^PostgreSQL: no answer within 1 s$"):
                inspector.tables()
            assert time.monotonic() - began < 3
            assert inspector._server.lost()
        finally:
            server.resume()


def test_a_wrong_password_is_never_shown(shop: Shop, capsys, monkeypatch) -> None:
    del shop
    monkeypatch.setenv("COLUMNS", "200")
    with pytest.raises(EnvironmentMissing, match="cannot be reached") as caught:
        command.app(["postgresql://reader:hunter2@127.0.0.1:1/shop"], standalone_mode=False)
    assert "hunter2" not in str(caught.value) + capsys.readouterr().out


def test_strange_names_are_shown_as_they_are(shop: Shop, capsys, monkeypatch) -> None:
    for name in STRANGE:
        shop.owner.execute(
            f"CREATE TABLE {ansi(name)} ({ansi(name)} bigint PRIMARY KEY);INSERT INTO {ansi(name)} VALUES (1), (2), (3)"
        )
    assert_strange_names_are_shown(shop.url("reader"), capsys, monkeypatch)


@pytest.mark.parametrize("shop", ["local"], indirect=True)
@pytest.mark.parametrize("rebuilt", first(1, [False, True]))
@pytest.mark.parametrize(
    ("table", "name"),
    first(2, [("t_switched", "uuid-v7"), ("t_text", "uuid-v4"), ("t_v4", "uuid-v4"), ("t_v4", "uuid-v7"),
              ("t_full", "bigint-identity")]),
)  # fmt: skip
def test_the_next_rows_are_forecast_to_the_page(shop: Shop, table: str, name: str, rebuilt: bool) -> None:
    if not shop.extensions:
        pytest.skip("the installed PostgreSQL has no pageinspect: apt-get install postgresql-contrib")
    shop.owner.execute("CREATE EXTENSION pageinspect")
    into_postgresql(shop.owner, {table: tables(6_000)[table]})

    def insert(rows: Sequence[Any]) -> None:
        with shop.owner.cursor().copy(f"COPY {table} (id) FROM STDIN") as copy:  # type: ignore[arg-type]
            copy.write("\n".join(row.hex() if isinstance(row, bytes) else str(row) for row in rows))

    rebuild = (lambda: shop.owner.execute(f"REINDEX TABLE {table}")) if rebuilt else None  # type: ignore[call-overload]
    assert_as_forecast(lambda: PostgresInspector(address_of(shop.url(), {})), table, name, rebuild, insert)
