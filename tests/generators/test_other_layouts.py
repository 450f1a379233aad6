"""Ranges, bits and quirks of the layouts other than RT.Comb's."""

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from keybench.errors import UsageError
from keybench.generators.core.clock import DATETIME_LAST, TICKS_PER_MS, TICKS_PER_SECOND, UNIX_EPOCH, iso_text
from keybench.generators.core.layout import layout
from keybench.generators.core.process import Process
from tests.generators.scripted import ScriptedEntropy

V7_LAST = UNIX_EPOCH + (1 << 48) * TICKS_PER_MS - 1
JHTODD = ["jhtodd-string", "jhtodd-binary", "jhtodd-end"]
JHTODD_WRAP = (1 << 48) * TICKS_PER_MS
U32 = 1 << 32


@pytest.mark.parametrize(
    ("ticks", "text"),
    [(0, "0001-01-01T00:00:00.0000000Z"), (UNIX_EPOCH - 1, "1969-12-31T23:59:59.9999999Z"),
     (635_634_337_800_066_667, "2015-03-31T21:23:00.0066667Z"), (JHTODD_WRAP, "8920-08-03T05:31:50.6560000Z"),
     (V7_LAST, "10889-08-02T05:31:50.6559999Z")],
)  # fmt: skip
def test_instants_as_text(ticks, text) -> None:
    assert iso_text(ticks) == text


# jhtodd


@pytest.mark.parametrize("name", JHTODD)
def test_jhtodd_wraps_in_8920(name, opened) -> None:
    keys = opened(name, [JHTODD_WRAP, DATETIME_LAST]).take(2)
    expected = [0, (DATETIME_LAST - JHTODD_WRAP) // TICKS_PER_MS * TICKS_PER_MS]
    assert layout(name).decode(keys).ticks.tolist() == expected


@pytest.mark.parametrize("name", JHTODD)
def test_jhtodd_draws_ten_bytes_a_key_and_fixes_no_bit(name, opened) -> None:
    script = ScriptedEntropy(bytes(range(20)) + b"\xff")
    keys = opened(name, [0, 0], entropy=script).take(2)
    assert [sorted(row)[6:] for row in keys.data.tolist()] == [list(range(10)), list(range(10, 20))]
    assert script.take(1, 1).tolist() == [[255]]


# morris and efcore-sequential


def published_sequence(last: int, readings: list[int]) -> list[int]:
    """Morris' rule, key by key: count up; if below the clock, move up to it, but return the value before."""
    returned = []
    for now in readings:
        last += 1
        returned.append(last)
        last = max(last, now)
    return returned


@given(
    start=st.integers(0, 3_000),
    readings=st.lists(st.one_of(st.integers(0, 3_000), st.integers(0, DATETIME_LAST)), max_size=40),
)
def test_morris_running_maximum_is_the_published_rule(start, readings, opened) -> None:
    keys = opened("morris", readings, start=start).take(len(readings))
    assert layout("morris").decode(keys).ticks.tolist() == published_sequence(start, readings)


def test_morris_starts_at_the_first_reading_unless_the_clock_has_a_start(opened) -> None:
    keys = opened("morris", [5_000, 9_000]).take(2)
    assert layout("morris").decode(keys).ticks.tolist() == [5_001, 5_002]


def test_morris_takes_eight_bytes_of_entropy_a_process_and_none_a_key(opened) -> None:
    script = ScriptedEntropy(bytes(range(8)))
    data = opened("morris", range(100), entropy=script).take(100).data
    assert {row[:8].tobytes() for row in data} == {bytes([3, 2, 1, 0, 5, 4, 7, 6])}


@pytest.mark.parametrize("name", ["morris", "efcore-sequential"])
@pytest.mark.parametrize("ticks", [-1, DATETIME_LAST + 1])
def test_both_refuse_a_start_that_datetime_cannot_hold(name, ticks, opened) -> None:
    with pytest.raises(UsageError, match=f"^{name} keys hold instants from 0001-01-01T.* to 9999-12-31T"):
        opened(name, [0], start=ticks)


@pytest.mark.parametrize("name", ["morris", *JHTODD, "hotguid"])
@pytest.mark.parametrize("ticks", [-1, DATETIME_LAST + 1])
def test_readings_that_datetime_cannot_hold_are_refused(name, ticks, opened) -> None:
    stream = opened(name, [0, ticks], start=0)
    with pytest.raises(UsageError, match=f"^{name} keys hold instants from 0001-01-01T.* to 9999-12-31T"):
        stream.take(2)


def test_efcore_counts_from_its_start_whatever_the_clock_says(opened) -> None:
    stream = opened("efcore-sequential", [10**18] * 5, start=600_000_000_000_065_530)
    decoded = layout("efcore-sequential").decode(stream.take(10))
    assert decoded.fields["counter"].tolist() == list(range(600_000_000_000_065_531, 600_000_000_000_065_541))


def test_efcore_keeps_the_version_and_loses_the_variant(opened) -> None:
    data = opened("efcore-sequential", [], start=0x0800_0000_0000_0000).take(300).data
    assert set(data[:, 6] >> 4) == {4}
    assert set(data[:, 8]) == {0, 1}


# hotguid


@given(ticks=st.integers(UNIX_EPOCH, UNIX_EPOCH + U32 * TICKS_PER_SECOND - 5), shard=st.integers(0, U32 - 1))
@example(ticks=UNIX_EPOCH, shard=0)
@example(ticks=UNIX_EPOCH + U32 * TICKS_PER_SECOND - 5, shard=U32 - 1)
def test_hotguid_reads_back_second_and_shard(ticks, shard, opened) -> None:
    decoded = layout("hotguid").decode(opened("hotguid", [ticks], shard=shard).take(1))
    second = int(float(ticks - UNIX_EPOCH) / 1e7)
    assert decoded.ticks[0] == UNIX_EPOCH + second * TICKS_PER_SECOND
    # Near 2106 doubles are 8 ticks apart, so rounding moves an instant by at most half of that.
    assert -4 <= ticks - decoded.ticks[0] < TICKS_PER_SECOND
    assert decoded.fields["shard"] == shard


def test_hotguid_seconds_wrap_as_a_cast_to_32_bits(opened) -> None:
    """The instants of the shipped test (.NET 8 and earlier), and those before 1970."""
    end = UNIX_EPOCH + U32 * TICKS_PER_SECOND
    ticks = [end - 2 * TICKS_PER_SECOND, end - TICKS_PER_SECOND, end, end + TICKS_PER_SECOND]
    ticks += [UNIX_EPOCH - 1, UNIX_EPOCH - TICKS_PER_SECOND]
    decoded = layout("hotguid").decode(opened("hotguid", ticks).take(6)).ticks
    seconds = (decoded - UNIX_EPOCH) // TICKS_PER_SECOND
    assert seconds.tolist() == [U32 - 2, U32 - 1, 0, 1, 0, U32 - 1]


def test_the_last_tick_of_a_second_counts_as_the_next_second(opened) -> None:
    of_2022 = 637_811_545_420_000_000
    decoded = layout("hotguid").decode(opened("hotguid", [of_2022 - 2, of_2022 - 1, of_2022]).take(3)).ticks
    assert (decoded - of_2022).tolist() == [-TICKS_PER_SECOND, 0, 0]


@pytest.mark.parametrize(("script", "first"), [("00000000", 1), ("ffffffff", 500_000), ("80000000", 250_001)])
def test_hotguid_counts_from_below_500000(script, first, opened) -> None:
    stream = opened("hotguid", [UNIX_EPOCH] * 3, entropy=ScriptedEntropy(bytes.fromhex(script)))
    counters = layout("hotguid").decode(stream.take(3)).fields["counter"]
    assert counters.tolist() == [first, first + 1, first + 2]


@pytest.mark.parametrize(("pid", "kept"), [(1, 1), (0xFFFF, 0xFFFF), (0x12345, 0x2345)])
def test_hotguid_keeps_16_bits_of_the_process_id(pid, kept, opened) -> None:
    keys = opened("hotguid", [UNIX_EPOCH], process=Process("testhost", pid)).take(1)
    assert layout("hotguid").decode(keys).fields["pid"] == kept


# bigint-identity


@given(of=st.integers(1, 5), n=st.integers(1, 30))
def test_writers_number_the_plan_together(of, n, opened) -> None:
    parts = [
        opened("bigint-identity", [], process=Process("host", 1).partition(i, of=of)).take(n).data for i in range(of)
    ]
    assert sorted(np.concatenate(parts)) == list(range(1, of * n + 1))


def test_a_planned_writer_sends_its_planned_numbers(opened) -> None:
    process = Process("host", 1).partition(0, of=2, planned=np.array([1, 4, 5]))
    stream = opened("bigint-identity", [], process=process)
    assert stream.take(2).data.tolist() == [1, 4]
    assert stream.take(1).data.tolist() == [5]
    with pytest.raises(ValueError, match=r"^the plan gives this writer 3 rows, not 4$"):
        stream.take(1)
