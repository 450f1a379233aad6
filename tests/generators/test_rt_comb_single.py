"""RT.Comb's `Create` and `GetTimestamp` for single GUIDs."""

import uuid
from datetime import UTC, datetime, timedelta, timezone

import pytest
from hypothesis import given
from hypothesis import strategies as st

from keybench.errors import UsageError
from keybench.generators import timestamp
from keybench.generators.core.layout import layout
from keybench.generators.rt_comb import LEGACY, ORACLE, POSTGRESQL, SQL, Comb

GUID = uuid.UUID("00112233-4455-4677-8899-aabbccddeeff")
MOST = uuid.UUID("7fffffff-7fff-7fff-ffff-ffffffffffff")
Y2000 = datetime(2000, 1, 1, tzinfo=UTC)


@pytest.mark.parametrize(
    ("comb", "guid", "time", "made"),
    [
        # RT.Comb's own tests of order: test/RT.Comb.Tests/RT.CombTests.cs.
        (LEGACY, MOST, Y2000, "7fffffff-7fff-7fff-ffff-8eac00000000"),
        (LEGACY, uuid.UUID(int=0), Y2000 + timedelta(milliseconds=10), "00000000-0000-0000-0000-8eac00000003"),
        (SQL, MOST, Y2000, "7fffffff-7fff-7fff-ffff-00dc6acfac00"),
        (SQL, uuid.UUID(int=0), Y2000 + timedelta(milliseconds=1), "00000000-0000-0000-0000-00dc6acfac01"),
        (POSTGRESQL, MOST, Y2000, "00dc6acf-ac00-7fff-ffff-ffffffffffff"),
        (POSTGRESQL, uuid.UUID(int=0), Y2000 + timedelta(milliseconds=1), "00dc6acf-ac01-0000-0000-000000000000"),
        (ORACLE, GUID, Y2000, "cf6adc00-00ac-4677-8899-aabbccddeeff"),
    ],
)
def test_create_is_the_originals(comb: Comb, guid: uuid.UUID, time: datetime, made: str) -> None:
    assert comb.create(guid, time) == uuid.UUID(made)
    assert abs(timestamp(uuid.UUID(made), comb.name) - time) < timedelta(microseconds=3334)


def test_published_combs_have_the_published_times() -> None:
    """The README of RT.Comb's T-SQL functions."""
    assert timestamp(uuid.UUID("d01c25cc-63a7-47cc-b5ba-018e5f3bff48"), "rt-comb-sql") == datetime(
        2024, 3, 21, 4, 19, 11, 304_000, tzinfo=UTC
    )
    assert timestamp(uuid.UUID("E25AFE33-DB2D-4502-9BF0-919001862CC4"), "rt-comb-legacy") == datetime(
        2002, 1, 10, 23, 40, 35, tzinfo=UTC
    )


def test_what_is_left_out_is_random_or_now() -> None:
    before = datetime.now(UTC)
    made = [SQL.create(), SQL.create(GUID), SQL.create(time=Y2000)]
    times = [timestamp(key, "rt-comb-sql") for key in made]
    assert before - timedelta(milliseconds=1) <= times[0] <= times[1] <= datetime.now(UTC)
    assert times[2] == Y2000
    assert made[1].bytes[:10] == GUID.bytes[:10]
    assert made[0].version == made[2].version == 4
    assert made[0].bytes[:10] != SQL.create().bytes[:10]


@given(st.datetimes(datetime(1970, 1, 2), datetime(9999, 12, 30)), st.integers(-86_340, 86_340), st.uuids())
def test_every_time_zone_gives_the_same_instant(time: datetime, offset: int, guid: uuid.UUID) -> None:
    there = time.replace(tzinfo=timezone(timedelta(seconds=offset)))
    assert SQL.create(guid, there) == SQL.create(guid, there.astimezone(UTC))
    # The doubles of the original are up to 512 ticks apart.
    lost = there - timestamp(SQL.create(guid, there), "rt-comb-sql")
    assert timedelta(microseconds=-52) <= lost <= timedelta(milliseconds=1)


def test_a_time_without_a_zone_is_refused() -> None:
    with pytest.raises(UsageError) as refused:
        SQL.create(GUID, datetime(2026, 1, 1, 12))
    assert str(refused.value) == "2026-01-01T12:00:00 has no time zone: give one, such as +00:00."


@pytest.mark.parametrize(("edge", "hours"), [(datetime.max, -14), (datetime.min, 14)])
def test_an_instant_beyond_datetimes_years_is_refused(edge: datetime, hours: int) -> None:
    with pytest.raises(UsageError) as refused:
        SQL.create(GUID, edge.replace(tzinfo=timezone(timedelta(hours=hours))))
    assert "keys hold instants from 0001-01-01T00:00:00.0000000Z to 9999-12-31T23:59:59.9999999Z" in str(refused.value)


def test_timestamps_that_never_repeat_need_a_time() -> None:
    never = layout("rt-comb-sql-no-repeat")
    assert isinstance(never, Comb)
    assert never.create(GUID, Y2000) == SQL.create(GUID, Y2000)
    with pytest.raises(UsageError) as refused:
        never.create(GUID)
    assert str(refused.value) == (
        "rt-comb-sql-no-repeat needs the timestamp before: give a time, or call new('rt-comb-sql-no-repeat')."
    )
