"""Which layouts a key can be, and why."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from keybench.generators.commands.decode import groups, parse, readings
from keybench.generators.commands.list import key_text
from keybench.generators.commands.odds import fit
from keybench.generators.core.clock import TICKS_PER_SECOND
from keybench.generators.core.layout import layout, layouts

NAMES = sorted({known.name for known in layouts().values()})
NOW = 638_712_864_000_000_000  # 2025-01-01
KEY = "d01c25cc-63a7-47cc-b5ba-018e5f3bff48"


def fits(name, keys) -> bool:
    return bool(fit(layout(name), keys, NOW).fits[0])


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
    found = fit(known, keys, NOW)
    assert found.plausible.all()
    if time and time.readable:
        assert abs(found.times[0] - ticks) <= max(time.resolution, 1)


def test_a_comb_differs_from_random_guids_by_its_time() -> None:
    (keys,) = parse(KEY)
    found = readings(keys, NOW)
    verdicts = [reading.verdict for reading in found]
    assert verdicts == sorted(verdicts)
    assert set(verdicts) == {"likely", "possible"}
    comb = one(found, "rt-comb-sql")
    assert (comb.verdict, comb.ticks) == ("likely", 638_465_915_513_040_000)
    assert comb.reason == "version, variant of RFC 9562 fit; its time is after 1990"
    # Six fixed bits, and 286 days (a year counts) and tomorrow of the 8,925 years that 48 bits of milliseconds cover.
    assert 1 / comb.chance == pytest.approx(64 * 2**48 / (366 * 86_400_000), rel=0.001)
    random = one(found, "uuid-v4")
    assert (random.verdict, random.chance, random.ticks) == ("possible", 1 / 64, None)
    assert {"rt-comb-postgresql", "rt-comb-legacy", "uuid-v7"}.isdisjoint(reading.layout.name for reading in found)
    assert fits("rt-comb-postgresql", keys), "but its time would be in the year 9220"
    assert not fits("rt-comb-legacy", keys), "its time component exceeds 24 hours"
    assert not fits("uuid-v7", keys), "its version is 4"


def test_a_future_time_is_unlikely() -> None:
    (keys,) = parse(KEY)
    made = 638_465_915_513_040_000
    assert one(readings(keys, made - 86_399 * TICKS_PER_SECOND), "rt-comb-sql").verdict == "likely"
    later = readings(keys, made - 86_401 * TICKS_PER_SECOND)
    assert "rt-comb-sql" not in {reading.layout.name for reading in later}


def test_ef_cores_counter_is_recognised_by_the_clock_at_its_start(opened) -> None:
    keys = opened("efcore-sequential", [], start=NOW).take(5)[4:]
    reading = one(readings(keys, NOW), "efcore-sequential")
    assert (reading.verdict, reading.ticks, reading.fields["counter"]) == ("likely", None, NOW + 5)
    assert reading.reason == "version fit; its counter is near a clock's ticks"


def test_fixed_bits_are_compared_bit_by_bit() -> None:
    (keys,) = parse("017f22e2-79b0-7cc3-d8c4-dc0c0c07398f")
    assert not fits("uuid-v7", keys), "its variant is 11"


def first_group(text: str) -> set[str]:
    (keys, *_) = parse(text)
    return {reading.layout.name for reading in groups(readings(keys, NOW))[0]}


def test_layouts_that_no_bits_tell_apart_are_one_group() -> None:
    assert {"uuid-v7", "dotnet-v7", "postgresql-uuidv7"} <= first_group("0190a6c1-79b0-7cc3-98c4-dc0c0c07398f")
    assert first_group("d30add63-11a1-11dd-b2eb-005056ae063c") == {"uuid-v1", "mysql-uuid", "mariadb-uuid-v1"}
    assert first_group(KEY) == {"rt-comb-sql", "rt-comb-sql-no-repeat"}
    assert first_group("1541815603606036480") == {"snowflake", "instagram"}


def test_a_low_number_is_a_count_and_no_snowflake() -> None:
    (keys,) = parse("42")
    counted, *others = groups(readings(keys, NOW))
    names = {"bigint-identity", "int-identity", "bigint-cached", "bigint-hilo"}
    assert {reading.layout.name for reading in counted} == names
    assert {reading.verdict for reading in counted} == {"likely"}
    assert "sonyflake" in {reading.layout.name for group in others for reading in group}
    assert {reading.verdict for group in others for reading in group} == {"possible"}
    for text in ("-7", "1541815603606036480"):
        (keys,) = parse(text)
        assert names.isdisjoint(reading.layout.name for reading in readings(keys, NOW))


@pytest.mark.parametrize(
    ("name", "text"),
    [("cuid2", "tz4a98xxat96iws9zmbrgj3A"), ("cuid2", "1z4a98xxat96iws9zmbrgj3a"), ("nanoid", "V1StGXR8_Z5jdHi6B!myT")],
)
def test_a_character_outside_of_the_alphabet_rules_a_text_out(name, text) -> None:
    (keys,) = parse(text)
    assert not fits(name, keys)


@pytest.mark.parametrize(("name", "text"), [("cuid2", "tz4a98xxat96iws9zmbrgj3a"), ("nanoid", "V1StGXR8_Z5jdHi6B-myT")])
def test_a_text_of_the_alphabet_can_be_one(name, text) -> None:
    (keys,) = parse(text)
    assert one(readings(keys, NOW), name).reason == "its characters fit"


@pytest.mark.parametrize(
    ("name", "text"), [("ulid-text", "01ARZ3NDEKTSV4RRFFQ69G5FAV"), ("tsid-text", "01226N0640J7Q")]
)
def test_crockfords_base_32_is_read_in_either_case_but_not_in_both(name, text) -> None:
    (upper,), (lower,) = parse(text), parse(text.lower())
    assert one(readings(lower, NOW), name).ticks == one(readings(upper, NOW), name).ticks is not None
    assert not fits(name, parse(text[:-4] + text[-4:].lower())[0])


def test_a_fraction_that_mariadb_does_not_write_is_refused() -> None:
    (last,), (beyond,) = parse("019c5e2f-b2b4-7f9f-8d2a-5b6d6f9c1234"), parse("019c5e2f-b2b4-7fa0-8d2a-5b6d6f9c1234")
    assert layout("mariadb-uuid-v7").decode(last).fields["counter"] == 3
    assert not fits("mariadb-uuid-v7", beyond)


def test_a_text_above_the_greatest_tsid_is_refused() -> None:
    (keys,) = parse("G1226N0640J7Q")
    assert not fits("tsid-text", keys)
