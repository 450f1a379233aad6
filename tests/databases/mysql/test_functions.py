"""The SQL functions make and read the keys that the layouts of the same name make and read."""

import re
import shutil
import subprocess
import time
import uuid
from collections.abc import Iterator
from contextlib import closing
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st
from typer.testing import CliRunner

from keybench import listing
from keybench.databases import mariadb, mysql
from keybench.databases.contract.roles import Address
from keybench.databases.mysql.admin import MySqlAdmin
from keybench.databases.mysql.engine import MySqlEngine
from keybench.databases.registry import script
from tests.databases.combs import KNOWN, decoded, expected
from tests.databases.mysql.conftest import ON_MARIADB, numbers, of_each, programs

DAY = 86_400_000_000
EPOCH = datetime(1970, 1, 1)
FIRST, LAST = -69 * 365 * DAY, 225 * 365 * DAY
"""Microseconds since 1970 of some instants after 1900, and of some at which .NET's doubles still hold microseconds."""
examples = settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])


@pytest.fixture(scope="module")
def server(engine: MySqlEngine, address: Address) -> Iterator[MySqlAdmin]:
    admin = MySqlAdmin(address)
    for statement in statements(script(engine)):
        admin.rows(statement)
    yield admin
    for name in installed(admin):
        admin.rows(f"DROP FUNCTION {name}")
    admin.close()


def statements(text: str) -> list[str]:
    """The script as programs send it, one statement after the other."""
    return [part for part in re.split(r";\n", text) if part.strip()]


def installed(admin: MySqlAdmin) -> list[str]:
    rows = admin.rows(
        "SELECT routine_name FROM information_schema.routines WHERE routine_schema = 'keybench' ORDER BY 1"
    )
    return [name for (name,) in rows]


def stamp(microseconds: int) -> str:
    return f"TIMESTAMP'{(EPOCH + timedelta(microseconds=microseconds)).isoformat(' ')}'"


def made(server: MySqlAdmin, function: str, base: uuid.UUID, microseconds: int) -> uuid.UUID:
    given = f"'{base}'" if function.endswith("uuid") else f"x'{base.hex}'"
    return as_uuid(server.value(f"SELECT {function}({given}, {stamp(microseconds)})"))


def as_uuid(value: object) -> uuid.UUID:
    return uuid.UUID(bytes=value) if isinstance(value, bytes) else uuid.UUID(str(value))


def read(server: MySqlAdmin, function: str, key: uuid.UUID) -> int | None:
    """Microseconds since 1970."""
    given = f"'{key}'" if function.endswith("uuid") else f"x'{key.hex}'"
    date = server.value(f"SELECT {function}({given})")
    return None if date is None else (date - EPOCH) // timedelta(microseconds=1)


@examples
@given(base=st.uuids(version=4), at=st.integers(0, LAST))
def test_a_comb_equals_the_layouts(server, base, at) -> None:
    key = made(server, "create_comb", base, at)
    assert key == expected("rt-comb-postgresql", base, at * 10)
    assert read(server, "date_from_comb", key) == at // 1000 * 1000


@ON_MARIADB
@examples
@given(base=st.uuids(version=4), at=st.integers(0, LAST))
def test_a_comb_for_uuid_equals_the_layouts(server, base, at) -> None:
    key = made(server, "create_comb_uuid", base, at)
    assert key == expected("rt-comb-sql", base, at * 10)
    assert read(server, "date_from_comb_uuid", key) == at // 1000 * 1000


@examples
@given(base=st.uuids(), at=st.integers(FIRST, LAST))
def test_a_legacy_comb_rounds_where_the_layout_truncates(server, base, at) -> None:
    ticks = at * 10 + 16_667  # half of 1/300 s later, cut off, is rounded
    assume(ticks % (DAY * 10) < DAY * 10 - 4)  # there the original reads a day late
    assert made(server, "create_comb_legacy", base, at) == expected("rt-comb-postgresql-legacy", base, ticks)


def test_a_time_just_before_midnight_is_rounded_to_the_next_day(server) -> None:
    midnight = 19_803 * DAY  # day 45370 since 1900
    keys = [str(made(server, "create_comb_legacy", uuid.UUID(int=0), midnight - at))[:13] for at in (1667, 1666, 0)]
    assert keys == ["b139018b-81ff", "b13a0000-0000", "b13a0000-0000"]


@examples
@given(key=st.uuids(), late=st.booleans())
def test_any_guid_is_read_as_the_layout_reads_it(server, key, late) -> None:
    if not late:
        key = uuid.UUID(int=key.int >> 4)
    ticks = decoded("rt-comb-postgresql", key)
    assert read(server, "date_from_comb", key) == (ticks if ticks is None else ticks // 10)


@examples
@given(days=st.integers(0, 65_535), units=st.integers(0, (1 << 32) - 1), rest=st.binary(min_size=10, max_size=10))
def test_any_legacy_comb_is_read_as_the_layout_reads_it(server, days, units, rest) -> None:
    for number in {units, units % 25_920_001}:
        key = uuid.UUID(bytes=days.to_bytes(2, "big") + number.to_bytes(4, "big") + rest)
        found, ticks = read(server, "date_from_comb_legacy", key), decoded("rt-comb-postgresql-legacy", key)
        if ticks is None:
            assert found is None
        else:
            assert found == (days - 25_567) * DAY + number * 10_000 // 3
            assert abs(found * 10 - ticks) <= 10


def calls(names: str, *functions: tuple[str, ...]) -> pytest.MarkDecorator:
    """Each call on each engine that has its function."""
    return of_each(names, lambda of: [call for call in functions if of is mariadb.ENGINE or "uuid" not in call[0]])


@calls(
    "function, key, told",
    *KNOWN,
    ("date_from_comb_uuid", "d01c25cc-63a7-47cc-b5ba-018e5f3bff48", "2024-03-21 04:19:11.304000"),
)
@pytest.mark.parametrize("zone", ["+00:00", "+05:45"])
def test_known_combs(server, function: str, key: str, told: str, zone: str) -> None:
    server.rows(f"SET time_zone = '{zone}'")
    literal = f"'{key}'" if function.endswith("uuid") else f"x'{uuid.UUID(key).hex}'"
    assert str(server.value(f"SELECT {function}({literal})")) == told
    server.rows("SET time_zone = DEFAULT")


@calls(
    "function, reader, kind",
    ("new_comb", "date_from_comb", "BINARY(16) DEFAULT ''"),
    ("new_comb_legacy", "date_from_comb_legacy", "BINARY(16) DEFAULT ''"),
    ("new_comb_uuid", "date_from_comb_uuid", "UUID DEFAULT UUID()"),
)
def test_by_a_trigger_each_row_gets_a_key_of_its_time(server, function: str, reader: str, kind: str) -> None:
    server.rows(f"CREATE TABLE keybench.orders (n INT AUTO_INCREMENT UNIQUE, id {kind} PRIMARY KEY)")
    server.rows(
        f"CREATE TRIGGER keybench.orders_id BEFORE INSERT ON keybench.orders FOR EACH ROW SET NEW.id = {function}()"
    )
    server.rows("SET time_zone = '+05:45'")
    begin = datetime.now(UTC).replace(tzinfo=None)
    for first in range(0, 3000, 1000):
        server.rows(f"INSERT INTO keybench.orders (n) {numbers(first + 1, first + 1000)} SELECT n FROM numbers")
        time.sleep(0.01)
    end = datetime.now(UTC).replace(tzinfo=None)
    keys = server.rows(f"SELECT id, {reader}(id), n FROM keybench.orders ORDER BY n")
    by_key = server.rows("SELECT n FROM keybench.orders ORDER BY id")
    server.rows("SET time_zone = DEFAULT")
    server.rows("DROP TABLE keybench.orders")
    times = [at for _, at, _ in keys]
    assert times == sorted(times)
    assert begin - timedelta(milliseconds=4) <= times[0] < times[-1] <= end + timedelta(milliseconds=4)
    assert len({key for key, *_ in keys}) == 3000
    assert {as_uuid(key).version for key, *_ in keys} == {4}
    assert {as_uuid(key).variant for key, *_ in keys} == {uuid.RFC_4122}
    order = [at for number in by_key for at in [times[number[0] - 1]]]
    assert order == sorted(order), "the column sorts them by their time"


@pytest.mark.parametrize("function", ["new_comb", "new_comb_legacy"])
def test_all_rows_of_a_statement_share_one_time(server, function: str) -> None:
    keys = server.rows(f"{numbers(1, 100)} SELECT {function}(), SLEEP(IF(n < 5, 0.01, 0)) FROM numbers")
    assert len({key[:6] for key, _ in keys}) == 1
    assert len({key for key, _ in keys}) == 100


@calls(
    "function, given",
    ("create_comb", "NULL, NOW(6)"),
    ("create_comb", "x'00', NULL"),
    ("create_comb_legacy", "NULL, NOW(6)"),
    ("create_comb_legacy", "x'00', NULL"),
    ("create_comb_uuid", "NULL, NOW(6)"),
    ("date_from_comb", "NULL"),
    ("date_from_comb_legacy", "NULL"),
    ("date_from_comb_uuid", "NULL"),
)
def test_null_gives_null(server, function: str, given: str) -> None:
    assert server.value(f"SELECT {function}({given})") is None


@ON_MARIADB
def test_installing_again_changes_nothing(server) -> None:
    before = installed(server)
    for statement in statements(script(mariadb.ENGINE)):
        server.rows(statement)
    assert installed(server) == before


@of_each("name", lambda of: ["", *of.functions()])
def test_the_printed_script_is_installed_by_the_client(engine: MySqlEngine, address: Address, name: str) -> None:
    path = programs(address)
    client = shutil.which("mysql", path=path) if path else shutil.which("mariadb") or shutil.which("mysql")
    if client is None:
        pytest.skip(f"no client beside the installed {engine.title}")
    listed = CliRunner().invoke(listing.app, ["sql", engine.name, *([name] if name else [])])
    printed = listed.stdout
    assert (listed.exit_code, printed) == (0, script(engine, name))
    with closing(MySqlAdmin(address)) as admin:
        admin.rows("CREATE DATABASE printed")
        try:
            where = [f"--socket={address.parameters['unix_socket']}", "--user=root", "--batch", "printed"]
            done = subprocess.run([client, "--no-defaults", *where], input=printed, capture_output=True, text=True)
            assert (done.returncode, done.stderr, done.stdout) == (0, "", "")
            names = admin.rows("SELECT routine_name FROM information_schema.routines WHERE routine_schema = 'printed'")
            assert {name} - {""} <= {each for (each,) in names}
            assert name or set(engine.functions()) <= {each for (each,) in names}
        finally:
            admin.rows("DROP DATABASE printed")


def test_mysql_has_the_four_common_functions_and_none_for_uuid() -> None:
    common = ["date_from_comb", "date_from_comb_legacy", "new_comb", "new_comb_legacy"]
    assert sorted(mysql.ENGINE.functions()) == common
    assert sorted(mariadb.ENGINE.functions()) == sorted([*common, "date_from_comb_uuid", "new_comb_uuid"])
    assert "OR REPLACE" not in script(mysql.ENGINE)  # MySQL has it not
    assert all(len(statement.split(";")) == 1 for statement in statements(script(mysql.ENGINE).rstrip().rstrip(";")))
