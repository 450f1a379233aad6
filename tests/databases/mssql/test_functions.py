"""The T-SQL functions' arithmetic, translated, makes and reads the keys that the layouts of those names do.

No server has run them. The translation below is of the expressions that the scripts hold, which is asserted.
"""

import uuid
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from keybench.databases.mssql.engine import ENGINE
from keybench.databases.registry import script
from tests.databases.combs import decoded, expected

DAY = 864_000_000_000
DAYS_TO_1970 = 25_567
"""Days from 1900 to 1970."""
LAST_DATETIME = (65_536 - DAYS_TO_1970) * DAY - 1
"""Ticks since 1970 before the days of a COMB wrap."""
examples = settings(max_examples=300, deadline=None)


def binary(number: int, width: int) -> bytes:
    """CAST(number AS binary(width)): the low bytes, the most significant first."""
    return (number & (1 << 8 * width) - 1).to_bytes(width, "big")


def as_binary(guid: uuid.UUID) -> bytes:
    """CAST(guid AS binary(16)): .NET's bytes."""
    return guid.bytes_le


def datetime_of(ticks: int) -> bytes:
    """CAST(GETUTCDATE() AS binary(8)) at that tick since 1970: rounded to 1/300 s."""
    days, rest = divmod(ticks, DAY)
    units = (rest * 3 + 50_000) // 100_000
    return binary(days + DAYS_TO_1970 + units // 25_920_000, 4) + binary(units % 25_920_000, 4)


def new_comb(base: uuid.UUID, ticks: int) -> uuid.UUID:
    """DATEDIFF_BIG(MILLISECOND, …) counts the boundaries that were crossed."""
    return uuid.UUID(bytes_le=as_binary(base)[:10] + binary(ticks // 10_000, 6))


def new_comb_legacy(base: uuid.UUID, ticks: int) -> uuid.UUID:
    return uuid.UUID(bytes_le=as_binary(base)[:10] + datetime_of(ticks)[2:8])


def date_from_comb(comb: uuid.UUID) -> int | None:
    """In ticks since 1970."""
    ms = int.from_bytes(as_binary(comb)[10:16], "big")
    return ms * 10_000 if ms < 253_402_300_800_000 else None


def date_from_comb_legacy(comb: uuid.UUID) -> tuple[int, int] | None:
    """(days since 1900, 1/300 s)."""
    days, units = (int.from_bytes(as_binary(comb)[a:b], "big") for a, b in ((10, 12), (12, 16)))
    return divmod(days * 25_920_000 + units, 25_920_000) if units <= 25_920_000 else None


@examples
@given(st.uuids(), st.integers(0, LAST_DATETIME))
def test_new_comb_equals_rt_combs_except_for_its_doubles(base, ticks) -> None:
    key = new_comb(base, ticks)
    assert key == expected("rt-comb-sql", base, ticks // 10_000 * 10_000)
    if ticks % 10_000 < 9_990:  # the last ticks of a millisecond are the next one's to a double
        assert key == expected("rt-comb-sql", base, ticks)
    assert date_from_comb(key) == ticks // 10_000 * 10_000


@examples
@given(st.uuids(), st.integers(0, LAST_DATETIME - DAY))
def test_new_comb_legacy_rounds_where_the_layout_truncates(base, ticks) -> None:
    later = ticks + 16_667  # half of 1/300 s later, cut off, is rounded
    assume(later % DAY < DAY - 4 and later % DAY >= 16_667)  # there the original reads a day late
    assume((ticks % DAY * 3 + 50_000) // 100_000 == later % DAY * 3 // 100_000)
    assert new_comb_legacy(base, ticks) == expected("rt-comb-legacy", base, later)


@examples
@given(st.uuids())
def test_any_guid_is_read_as_the_layout_reads_it(key) -> None:
    assert date_from_comb(key) == decoded("rt-comb-sql", key)
    found, ticks = date_from_comb_legacy(key), decoded("rt-comb-legacy", key)
    assert (found is None) == (ticks is None)


@pytest.mark.parametrize("units", [0, 1, 2, 25_919_999, 25_920_000])
def test_the_legacy_date_is_the_layouts(units) -> None:
    key = uuid.UUID(bytes_le=bytes(10) + binary(40_000, 2) + binary(units, 4))
    days, rest = date_from_comb_legacy(key) or (0, 0)
    ticks = decoded("rt-comb-legacy", key)
    assert abs((days - DAYS_TO_1970) * DAY + rest * 100_000 / 3 - ticks) < 3  # the original's doubles


def test_published_combs_are_read_as_published() -> None:
    unix = date_from_comb(uuid.UUID("d01c25cc-63a7-47cc-b5ba-018e5f3bff48"))
    assert datetime(1970, 1, 1, tzinfo=UTC) + timedelta(microseconds=unix // 10) == datetime(
        2024, 3, 21, 4, 19, 11, 304_000, tzinfo=UTC
    )
    days, units = date_from_comb_legacy(uuid.UUID("E25AFE33-DB2D-4502-9BF0-919001862CC4")) or (0, 0)
    at = datetime(1900, 1, 1, tzinfo=UTC) + timedelta(days=days, microseconds=units * 10_000 // 3)
    assert at == datetime(2002, 1, 10, 23, 40, 35, tzinfo=UTC)


@pytest.mark.parametrize(
    ("name", "expressions"),
    [
        (
            "NewComb",
            [
                "SELECT @base = CAST(id AS binary(10)) FROM dbo.vwNewGuid;",
                "CAST(DATEDIFF_BIG(MILLISECOND, CAST('1970-01-01' AS datetime2), SYSUTCDATETIME()) AS binary(6))",
                "CAST(@base + @time AS uniqueidentifier)",
            ],
        ),
        ("NewCombLegacy",
         ["SUBSTRING(CAST(GETUTCDATE() AS binary(8)), 3, 6)", "CAST(@base + @time AS uniqueidentifier)"]),
        ("DateFromComb", ["CAST(SUBSTRING(CAST(@comb AS binary(16)), 11, 6) AS bigint)", "IF @ms < 253402300800000"]),
        (
            "DateFromCombLegacy",
            [
                "CAST(SUBSTRING(CAST(@comb AS binary(16)), 11, 2) AS int)",
                "CAST(SUBSTRING(CAST(@comb AS binary(16)), 13, 4) AS bigint)",
                "CAST(CAST(@days AS binary(4)) + CAST(CAST(@units AS int) AS binary(4)) AS datetime)",
                "IF @units = 25920000",
                "DATEADD(DAY, @days + 1, CAST('19000101' AS datetime))",
            ],
        ),
    ],
)  # fmt: skip
def test_the_scripts_contain_the_translated_expressions(name, expressions) -> None:
    text = script(ENGINE, name)
    for expression in expressions:
        assert expression in text


def test_all_five_are_printed_as_batches_of_their_own() -> None:
    text = script(ENGINE)
    assert text.count("\nGO\n") == 5
    assert "CREATE OR ALTER VIEW dbo.vwNewGuid" in text
    assert "not yet run on a server" in text
    assert script(ENGINE, "new_comb_legacy") == script(ENGINE, "NewCombLegacy")
