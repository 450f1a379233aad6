"""RT.Comb over its whole range of dates, and the quirks of its arithmetic."""

import math

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from keybench.errors import UsageError
from keybench.generators.core.clock import DATETIME_LAST, EPOCH_1900, TICKS_PER_MS, TICKS_PER_SECOND, UNIX_EPOCH
from keybench.generators.core.layout import layout
from tests.errors import raised

DAY = 86_400 * TICKS_PER_SECOND
LEGACY_LAST = EPOCH_1900 + 65_536 * DAY - 1
"""2079-06-06, last tick."""
UNIX_NAMES = ["rt-comb-sql", "rt-comb-postgresql"]


def round_trip(opened, name: str, ticks: int):
    return layout(name).decode(opened(name, [ticks]).take(1))


def dates(opened, name: str, ticks: list[int]) -> list[int]:
    """The six bytes of each key as a number."""
    where = slice(0, 6) if name == "rt-comb-postgresql" else slice(10, 16)
    return [int.from_bytes(row[where].tobytes(), "big") for row in opened(name, ticks).take(len(ticks)).data]


@pytest.mark.parametrize("name", UNIX_NAMES)
@given(ticks=st.integers(UNIX_EPOCH, DATETIME_LAST - 9_999))
@example(ticks=UNIX_EPOCH)
@example(ticks=DATETIME_LAST - 9_999)
def test_unix_dates_read_back_to_the_millisecond(name, ticks, opened) -> None:
    decoded = round_trip(opened, name, ticks).ticks[0]
    assert decoded % TICKS_PER_MS == (UNIX_EPOCH % TICKS_PER_MS)
    # The original's double arithmetic, written out for one value.
    assert decoded == UNIX_EPOCH + math.trunc(float(ticks - UNIX_EPOCH) / 10_000.0) * TICKS_PER_MS
    # Near 9999 doubles are 512 ticks apart, so rounding moves an instant by at most half of that.
    assert -256 <= ticks - decoded < TICKS_PER_MS + 256


@given(ticks=st.integers(EPOCH_1900, LEGACY_LAST).filter(lambda ticks: ticks % DAY < DAY - 4))
@example(ticks=EPOCH_1900)
@example(ticks=LEGACY_LAST - 4)
def test_legacy_dates_read_back_to_the_unit(ticks, opened) -> None:
    decoded = round_trip(opened, "rt-comb-legacy", ticks)
    units = ticks % DAY * 3 // 100_000
    # A unit is 33,333⅓ ticks; .NET 7 and later truncate n/0.3 ms to ticks, and rounding can lose one more.
    assert 0 <= ticks // DAY * DAY + units * 100_000 // 3 - decoded.ticks[0] <= 1
    assert 0 <= ticks - decoded.ticks[0] <= 33_335
    rounded = decoded.fields["ticks_before_net7"][0]
    assert rounded % TICKS_PER_MS == 0
    assert abs(rounded - decoded.ticks[0]) <= TICKS_PER_MS // 2


def test_the_last_tick_of_a_millisecond_is_stored_as_the_next(opened) -> None:
    of_2015 = 635_634_431_990_000_000
    odd = [of_2015 + rest for rest in (9_997, 9_998, 9_999, 10_000)]
    exact = [(ticks - UNIX_EPOCH) // TICKS_PER_MS for ticks in odd]
    assert np.subtract(dates(opened, "rt-comb-sql", odd), exact).tolist() == [0, 0, 1, 0]


def test_the_last_ticks_of_a_day_are_stored_a_day_late(opened) -> None:
    midnight = EPOCH_1900 + 46_345 * DAY
    stored = dates(opened, "rt-comb-legacy", [midnight - 5, midnight - 4, midnight - 1, midnight])
    assert [(value >> 32, value & 0xFFFF_FFFF) for value in stored] == [
        (46_344, 25_919_999),
        (46_345, 25_919_999),
        (46_345, 25_919_999),
        (46_345, 0),
    ]


def test_instants_before_1970_are_stored_modulo_48_bits(opened) -> None:
    assert dates(opened, "rt-comb-sql", [UNIX_EPOCH - TICKS_PER_MS]) == [2**48 - 1]
    # The cast truncates towards 1970, so less than a millisecond before it is 0.
    assert dates(opened, "rt-comb-sql", [UNIX_EPOCH - TICKS_PER_MS + 1]) == [0]
    assert dates(opened, "rt-comb-postgresql", [0]) == [2**48 - 62_135_596_800_000]


def test_legacy_days_wrap(opened) -> None:
    stored = dates(opened, "rt-comb-legacy", [LEGACY_LAST - 4, LEGACY_LAST + 1, EPOCH_1900 - DAY])
    assert [value >> 32 for value in stored] == [65_535, 0, 65_535]


def test_legacy_truncates_where_sql_server_rounds(opened) -> None:
    """Encoding a decoded instant loses one unit for two of three values (.NET 7 and later)."""
    first = 638_465_915_513_040_000
    ticks = [first + n * 33_334 for n in range(300)]
    once = layout("rt-comb-legacy").decode(opened("rt-comb-legacy", ticks).take(300)).ticks
    twice = layout("rt-comb-legacy").decode(opened("rt-comb-legacy", once).take(300)).ticks
    assert np.count_nonzero(twice != once) == 200


@pytest.mark.parametrize("name", [*UNIX_NAMES, "rt-comb-legacy"])
@pytest.mark.parametrize(
    ("ticks", "shown"), [(-1, "0000-12-31T23:59:59.9999999Z"), (DATETIME_LAST + 1, "10000-01-01T00:00:00.0000000Z")]
)
def test_instants_that_datetime_cannot_hold_are_refused(name, ticks, shown, opened) -> None:
    assert raised(UsageError, opened(name, [UNIX_EPOCH, ticks]).take, 2) == (
        f"{name} keys hold instants from 0001-01-01T00:00:00.0000000Z to 9999-12-31T23:59:59.9999999Z, "
        f"and the clock shows {shown}: set the clock inside that range."
    )


def test_the_last_readable_values(guids_of) -> None:
    millisecond = layout("rt-comb-sql").decode(guids_of(["00000000-0000-0000-0000-e677d21fdbff"]))
    assert millisecond.ticks[0] == DATETIME_LAST - 9_999
    midnight = layout("rt-comb-legacy").decode(guids_of(["00000000-0000-0000-0000-ffff018b8200"]))
    assert midnight.ticks[0] == midnight.fields["ticks_before_net7"][0] == LEGACY_LAST + 1
