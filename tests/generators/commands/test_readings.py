"""Which layouts a key can be, and why."""

from __future__ import annotations

import uuid
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from keybench.errors import UsageError
from keybench.generators.commands.readings import key_text, parse, read, readings
from keybench.generators.core.clock import TICKS_PER_SECOND, ticks_of
from keybench.generators.core.layout import layout, layouts
from keybench.model.byteorder import PERMUTATIONS, stored
from keybench.model.keys import Keys

NAMES = sorted({known.name for known in layouts().values()})
NOW = 638_712_864_000_000_000  # 2025-01-01
KEY = "d01c25cc-63a7-47cc-b5ba-018e5f3bff48"
BYTES = uuid.UUID(KEY).bytes


def one(found, name):
    (reading,) = [reading for reading in found if reading.layout.name == name]
    return reading


@pytest.mark.parametrize("name", NAMES)
@settings(max_examples=12)
@given(back=st.integers(0, 30 * 365 * 86_400))
def test_a_layouts_own_key_is_never_ruled_out_and_its_time_is_found(name, back, opened) -> None:
    """From the key's text, as a user would paste it."""
    ticks = NOW - back * TICKS_PER_SECOND
    known = layout(name)
    time = known.description.time
    if time and ticks < time.first:
        ticks = NOW
    (keys, *_) = [keys for keys in parse(key_text(opened(name, [ticks]).take(1))) if keys.kind == known.kind]
    reading = read(known, keys, NOW)
    if not time or not time.readable:
        assert reading.verdict in {"likely", "possible"}
    else:
        assert reading.verdict == "likely", reading.reason
        assert abs(reading.ticks - ticks) <= max(time.resolution, 1)


def test_a_comb_differs_from_random_guids_by_its_time() -> None:
    (keys,) = parse(KEY)
    found = readings(keys, NOW)
    assert [reading.verdict for reading in found] == sorted(
        (reading.verdict for reading in found), key=["likely", "possible", "unlikely", "no"].index
    )
    comb = one(found, "rt-comb-sql")
    assert (comb.verdict, comb.ticks) == ("likely", 638_465_915_513_040_000)
    assert comb.reason == "version, variant of RFC 9562 fit; its time is after 1990"
    # Six fixed bits, and 35 years of the 8,030 until .NET's DateTime ends.
    assert 1 / comb.chance == pytest.approx(64 * 8_030 / 35, rel=0.01)
    random = one(found, "uuid-v4")
    assert (random.verdict, random.chance, random.ticks) == ("possible", 1 / 64, None)
    wrong = one(found, "rt-comb-postgresql")
    assert (wrong.verdict, wrong.reason) == ("unlikely", "its time would be 9220-12-29T15:56:53.5430000Z")
    refused = one(found, "rt-comb-legacy")
    assert refused.verdict == "no"
    assert refused.reason.startswith(f"{KEY} is no rt-comb-legacy key: its time component exceeds 24 hours.")
    assert one(found, "uuid-v7").reason == "its keys have 7 as version"


def test_a_future_time_is_unlikely() -> None:
    (keys,) = parse(KEY)
    made = 638_465_915_513_040_000
    assert one(readings(keys, made - 86_399 * TICKS_PER_SECOND), "rt-comb-sql").verdict == "likely"
    assert one(readings(keys, made - 86_401 * TICKS_PER_SECOND), "rt-comb-sql").verdict == "unlikely"


def test_ef_cores_counter_is_recognised_by_the_clock_at_its_start(opened) -> None:
    keys = opened("efcore-sequential", [], start=NOW).take(5)[4:]
    reading = one(readings(keys, NOW), "efcore-sequential")
    assert (reading.verdict, reading.ticks, reading.fields["counter"]) == ("likely", None, NOW + 5)
    assert reading.reason == "version fit; its counter is near a clock's ticks"


def test_shard_process_and_counter_are_read(opened) -> None:
    keys = opened(replace(layout("hotguid"), shard=208), [NOW]).take(1)
    reading = one(readings(keys, NOW), "hotguid")
    assert reading.fields["shard"] == 208
    assert reading.fields["pid"] == 74_565 & 0xFFFF
    assert set(reading.fields) == {"shard", "pid", "counter", "machine"}


@pytest.mark.parametrize(
    "text",
    [
        KEY, KEY.upper(), KEY.replace("-", ""), f"{{{KEY}}}", f"urn:uuid:{KEY}", f"  {KEY}\n",
        f"0x{KEY.replace('-', '')}",
        f"({KEY.upper()})",
    ],
)  # fmt: skip
def test_every_spelling_of_a_guid(text) -> None:
    (keys,) = parse(text)
    assert keys.kind == "uuid"
    assert keys.data.tobytes() == BYTES


@pytest.mark.parametrize("order", sorted(PERMUTATIONS))
@given(guid=st.uuids())
def test_bytes_as_a_column_stores_them(order, guid) -> None:
    keys = Keys(np.frombuffer(guid.bytes, np.uint8).reshape(1, 16), "uuid")
    (back,) = parse(stored(keys, order).tobytes().hex(), order)
    assert key_text(back) == str(guid)


@pytest.mark.parametrize(
    ("text", "kind", "name", "moment"),
    [
        ("1541815603606036480", "int", "snowflake", "2022-06-28T16:07:40.105Z"),
        ("-JhLeOlGIEjaIOFHR0xd", "text", "pushid", "2015-02-04T22:15:31.153Z"),
        ("01221H8Q1MMZR", "text", "tsid-text", "2020-04-15T19:59:46.360Z"),
    ],
)
def test_published_keys_of_other_kinds(text, kind, name, moment) -> None:
    from datetime import datetime

    (keys,) = [keys for keys in parse(text) if keys.kind == kind]
    reading = one(readings(keys, NOW), name)
    assert reading.ticks == ticks_of(datetime.fromisoformat(moment))
    assert key_text(keys) == text


@pytest.mark.parametrize(
    "text",
    ["", "d01c25cc", KEY[:-1], KEY + "0", KEY.replace("d", "g"), "d01c25cc63a7-47cc-b5ba-018e5f3bff48",
     "9" * 19 + "9999", "1.5", "é" * 26],
)  # fmt: skip
def test_a_text_that_can_be_no_key_is_refused(text) -> None:
    with pytest.raises(UsageError) as refused:
        parse(text)
    assert str(refused.value) == (
        f"{text!r} is no key of any layout: a GUID has 32 hexadecimal digits, plain or as 8-4-4-4-12; "
        "`keybench generators list` shows the lengths of other keys."
    )


def test_mariadbs_bytes_cannot_be_turned_back() -> None:
    with pytest.raises(
        UsageError, match=r"^bytes in the order 'mariadb' cannot be turned back: choose from rfc, net, "
    ):
        parse(KEY, "mariadb")


def test_fixed_bits_are_compared_bit_by_bit() -> None:
    (keys,) = parse("017f22e2-79b0-7cc3-d8c4-dc0c0c07398f")
    assert read(layout("uuid-v7"), keys, NOW).reason == "its keys have 10 as variant of RFC 9562"
