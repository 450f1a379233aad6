"""The SQL functions make and read the keys that the layouts of the same name make and read."""

import subprocess
import uuid
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from keybench.databases.contract.roles import Address
from keybench.databases.postgresql.admin import PostgresAdmin
from keybench.databases.postgresql.engine import ENGINE
from keybench.databases.registry import script
from keybench.generators.core.clock import UNIX_EPOCH
from tests.databases.combs import KNOWN, decoded, expected

DAY = 86_400_000_000
FIRST, LAST = -70 * 366 * DAY, 225 * 365 * DAY
"""Microseconds since 1970 of some instants before 1900, and of some at which .NET's doubles still hold microseconds."""
INSTALLED = "SET search_path TO combs"


@pytest.fixture(params=["embedded", "local"], scope="module")
def server(request: pytest.FixtureRequest) -> Iterator[PostgresAdmin]:
    admin = PostgresAdmin(request.getfixturevalue(request.param))
    admin.rows("CREATE SCHEMA combs")
    admin.rows(INSTALLED)
    admin.rows(script(ENGINE))
    yield admin
    admin.rows("DROP SCHEMA combs CASCADE")
    admin.close()


def stamp(microseconds: int) -> str:
    """An instant since 1970 as PostgreSQL computes it, exact in any year."""
    days, rest = divmod(microseconds, DAY)
    return (
        f"(timestamp '1970-01-01' + {days} * interval '1 day' + {rest} * interval '1 microsecond') AT TIME ZONE 'UTC'"
    )


def comb(server: PostgresAdmin, function: str, base: uuid.UUID, microseconds: int) -> uuid.UUID:
    return server.value(f"SELECT {function}('{base}', {stamp(microseconds)})")


def read(server: PostgresAdmin, function: str, key: uuid.UUID) -> int | None:
    """Microseconds since 1970. The server splits the time into parts, because its years go beyond Python's."""
    statement = (
        f"SELECT (at::date - date '1970-01-01')::bigint * {DAY} + extract(hour FROM at)::bigint * 3600000000 "
        "+ extract(minute FROM at)::bigint * 60000000 + extract(microseconds FROM at)::bigint "
        f"FROM (SELECT {function}('{key}') AT TIME ZONE 'UTC' AS at) AS moment"
    )
    return server.value(statement)


examples = settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])


@examples
@given(base=st.uuids(), at=st.integers(0, LAST))
def test_new_comb_makes_what_the_layout_makes(server, base, at) -> None:
    key = comb(server, "new_comb", base, at)
    assert key == expected("rt-comb-postgresql", base, at * 10)
    assert read(server, "date_from_comb", key) == at // 1000 * 1000


@examples
@given(base=st.uuids(), at=st.integers(FIRST, LAST))
def test_new_comb_legacy_rounds_where_the_layout_truncates(server, base, at) -> None:
    ticks = at * 10 + 16_667  # adding half of 1/300 s makes truncation round
    assume(ticks % (DAY * 10) < DAY * 10 - 4)  # in the last ticks of a day the original reads a day late
    assume(UNIX_EPOCH + ticks > 599_266_080_000_000_000)  # the original truncates days towards 1900
    key = comb(server, "new_comb_legacy", base, at)
    assert key == expected("rt-comb-postgresql-legacy", base, ticks)


def test_a_time_just_before_midnight_is_rounded_to_the_next_day(server) -> None:
    base = uuid.UUID(int=0)
    midnight = 19_803 * DAY  # day 45370 since 1900
    made = [str(comb(server, "new_comb_legacy", base, midnight - before))[:13] for before in (1667, 1666, 0)]
    assert made == ["b139018b-81ff", "b13a0000-0000", "b13a0000-0000"]


@examples
@given(key=st.uuids())
def test_any_guid_is_read_as_the_layout_reads_it(server, key) -> None:
    ticks = decoded("rt-comb-postgresql", key)
    assert read(server, "date_from_comb", key) == (ticks if ticks is None else ticks // 10)


@examples
@given(days=st.integers(0, 65_535), units=st.integers(0, 1 << 32), rest=st.binary(min_size=10, max_size=10))
def test_any_legacy_comb_is_read_as_the_layout_reads_it(server, days, units, rest) -> None:
    for number in {units % (1 << 32), units % 25_920_001}:
        key = uuid.UUID(bytes=days.to_bytes(2, "big") + number.to_bytes(4, "big") + rest)
        by_server, ticks = read(server, "date_from_comb_legacy", key), decoded("rt-comb-postgresql-legacy", key)
        if ticks is None:
            assert by_server is None
        else:
            assert by_server == (days - 25_567) * DAY + number * 10_000 // 3
            assert abs(by_server * 10 - ticks) <= 10


@pytest.mark.parametrize(("function", "key", "told"), KNOWN)
def test_known_combs(server, function: str, key: str, told: str) -> None:
    for zone in ("UTC", "Asia/Kathmandu"):
        server.rows(f"SET timezone TO '{zone}'")
        instant = "NULL" if told == "None" else f"timestamptz '{told}+00'"
        assert server.value(f"SELECT {function}('{key}') IS NOT DISTINCT FROM {instant}")
    server.rows("SET timezone TO DEFAULT")


@pytest.mark.parametrize("suffix", ["", "_legacy"])
def test_as_a_default_each_row_gets_a_key_of_its_own_time(server, suffix: str) -> None:
    server.rows(f"CREATE TABLE orders (n serial, id uuid PRIMARY KEY DEFAULT new_comb{suffix}())")
    begin = datetime.now(UTC).timestamp()
    server.rows("INSERT INTO orders (n) SELECT n FROM generate_series(1, 5000) AS n")
    end = datetime.now(UTC).timestamp()
    keys = server.rows(f"SELECT id, date_from_comb{suffix}(id) FROM orders ORDER BY n")
    server.rows("DROP TABLE orders")
    times = [at.timestamp() for _, at in keys]
    assert times == sorted(times)
    assert begin - 0.004 <= times[0] < times[-1] <= end + 0.004
    assert len({key for key, _ in keys}) == 5000
    assert {key.version for key, _ in keys} == {4}


def test_null_gives_null(server) -> None:
    for call in ("new_comb(NULL)", "date_from_comb(NULL)", "new_comb_legacy(NULL)", "date_from_comb_legacy(NULL)"):
        assert server.value(f"SELECT {call}") is None


def test_installing_again_changes_nothing(server) -> None:
    before = server.rows("SELECT oid, prosrc FROM pg_proc WHERE pronamespace = 'combs'::regnamespace ORDER BY 1")
    server.rows(script(ENGINE))
    assert before == server.rows(
        "SELECT oid, prosrc FROM pg_proc WHERE pronamespace = 'combs'::regnamespace ORDER BY 1"
    )
    assert len(before) == 5


def test_the_printed_script_is_installed_by_psql(local: Address) -> None:
    psql = Path(local.parameters["programs"]) / "psql"
    if not psql.exists():
        pytest.skip("no psql beside the installed PostgreSQL")
    where = ["-h", local.parameters["host"], "-p", local.parameters["port"], "-U", local.parameters["user"], "postgres"]
    text = script(ENGINE) + "\nSELECT date_from_comb(new_comb()) > now() - interval '1 minute';\n"
    done = subprocess.run([psql, "-XAtq", "-v", "ON_ERROR_STOP=1", *where], input=text, capture_output=True, text=True)
    assert (done.returncode, done.stderr, done.stdout) == (0, "", "t\n")
    names = ", ".join(ENGINE.functions())
    subprocess.run([psql, "-XAtq", *where, "-c", f"DROP FUNCTION {names}"], check=True)


def test_rt_combs_keys_for_postgresql_are_uuidv7_but_for_the_version(embedded: Address) -> None:
    """The claim rt-comb-uuidv7, which is arithmetic, on PostgreSQL 18."""
    when = datetime(2026, 1, 2, 3, 4, 5, 678_000, tzinfo=UTC)
    microseconds = (when - datetime(1970, 1, 1, tzinfo=UTC)) // timedelta(microseconds=1)
    comb = expected("rt-comb-postgresql", uuid.uuid4(), microseconds * 10)
    as_7 = bytearray(comb.bytes)
    as_7[6] = as_7[6] & 0x0F | 0x70
    admin = PostgresAdmin(embedded)
    try:
        query = "SELECT uuid_extract_version(%s::uuid), uuid_extract_timestamp(%s::uuid)"
        found = [admin.rows(query, str(key), str(key)) for key in (comb, uuid.UUID(bytes=bytes(as_7)))]
    finally:
        admin.close()
    assert found == [[(4, None)], [(7, when)]]
