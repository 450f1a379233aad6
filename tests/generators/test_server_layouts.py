"""Keys of servers, replicated on the client: PostgreSQL, MariaDB, MySQL, Oracle; sequential-uuids; Percona's."""

import datetime
import hashlib
import uuid

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from keybench.errors import UsageError
from keybench.generators.core.clock import (
    DATETIME_LAST,
    TICKS_PER_MS,
    TICKS_PER_SECOND,
    UNIX_48_BIT_LAST,
    UNIX_EPOCH,
    VirtualClock,
    ticks_of,
)
from keybench.generators.core.entropy import AesEntropy
from keybench.generators.core.layout import layout
from keybench.generators.core.process import Process
from keybench.generators.prefixed_guids import text_of_random, years_and_weeks
from keybench.generators.uuid_v1 import GREGORIAN
from keybench.model.byteorder import stored
from keybench.model.keys import Keys
from tests.generators.scripted import ScriptedEntropy

START = 637_811_545_420_000_000
V1 = ["mariadb-uuid-v1", "mysql-uuid", "percona-ordered-uuid"]
MOMENTS = st.datetimes(datetime.datetime(1970, 1, 1), datetime.datetime(9999, 12, 31))
NS_LAST = UNIX_EPOCH + ((1 << 63) - (1 << 48)) // 100


def guids(keys) -> list[str]:
    return [str(uuid.UUID(bytes=row.tobytes())) for row in keys.data]


def clock_of(nanoseconds: list[int]) -> VirtualClock:
    """A clock of Unix nanoseconds."""
    ns = np.array(nanoseconds, np.int64)
    return VirtualClock(ns // 100 + UNIX_EPOCH, ns % 100)


# Version 7


def test_postgresql_vector(vectors) -> None:
    (vector,) = vectors("postgresql18_uuidv7")
    sequence = vector["sequence"]
    entropy = ScriptedEntropy(bytes.fromhex(vector["inputs"]["random8"]) * len(sequence))
    clock = clock_of([step["clock_ns"] for step in sequence])
    keys = layout("postgresql-uuidv7").stream(Process("h", 1), clock, entropy).take(len(sequence))
    assert guids(keys) == [step["guid"] for step in sequence]
    milliseconds = [step["used_ns"] // 1_000_000 * TICKS_PER_MS + UNIX_EPOCH for step in sequence]
    decoded = layout("postgresql-uuidv7").decode(keys)
    assert decoded.ticks.tolist() == milliseconds, "uuid_extract_timestamp knows milliseconds only"
    assert decoded.fields["fraction"].tolist() == [step["used_ns"] % 1_000_000 * 4096 // 1_000_000 for step in sequence]


@given(readings=st.lists(st.integers(0, 3_000), min_size=1, max_size=50))
def test_a_backend_equals_the_loop_over_calls(readings) -> None:
    start = 1_645_557_742_000_000_000
    last, used = 0, []
    for reading in readings:
        last = last + 245 if last + 245 >= start + reading else start + reading
        used.append(last)
    clock = clock_of([start + reading for reading in readings])
    keys = layout("postgresql-uuidv7").stream(Process("h", 1), clock, AesEntropy.seeded(1)).take(len(readings))
    fields = layout("postgresql-uuidv7").decode(keys)
    assert fields.fields["fraction"].tolist() == [ns % 1_000_000 * 4096 // 1_000_000 for ns in used]


def test_mariadb_vector(vectors, opened) -> None:
    (vector,) = vectors("mariadb_uuid_v7")
    sequence = vector["sequence"]
    entropy = ScriptedEntropy(bytes.fromhex(vector["inputs"]["random8"]) * len(sequence))
    ticks = [step["clock_us"] * 10 + UNIX_EPOCH for step in sequence]
    keys = opened("mariadb-uuid-v7", ticks, entropy=entropy).take(len(sequence))
    assert guids(keys) == [step["guid"] for step in sequence]
    decoded = layout("mariadb-uuid-v7").decode(keys)
    assert decoded.ticks[[0, 3, 4, 5]].tolist() == [ticks[i] for i in (0, 3, 4, 5)]
    assert decoded.fields["counter"].tolist() == [0, 1, 2, 0, 0, 0, 1]


def test_a_server_beyond_its_range_is_an_error(opened) -> None:
    with pytest.raises(UsageError, match=r"^mariadb-uuid-v7 keys end with 10889-08-02T05:31:50\.6559999Z"):
        opened("mariadb-uuid-v7", [UNIX_48_BIT_LAST] * 5).take(5)
    with pytest.raises(UsageError, match=r"^postgresql-uuidv7 keys end with 2262-04-"):
        opened("postgresql-uuidv7", [NS_LAST] * 5_000).take(5_000)


# Version 1


def test_the_order_of_the_bytes_is_that_of_uuid_to_bin(vectors) -> None:
    for vector in vectors("mysql_uuid_to_bin_swap"):
        turned = bytes.fromhex(vector["binary16_hex"])
        given_uuid = uuid.UUID(vector["inputs"]["uuid"])
        plain = Keys(np.frombuffer(given_uuid.bytes, np.uint8).reshape(1, 16).copy(), "uuid")
        assert stored(plain, "mysql-swap").tobytes() == turned
        read = layout("percona-ordered-uuid").decode(
            Keys(np.frombuffer(turned, np.uint8).reshape(1, 16).copy(), "uuid")
        )
        assert read.ticks == given_uuid.time + GREGORIAN
        assert read.fields["node"] == given_uuid.node
        assert read.fields["clock_sequence"] == given_uuid.clock_seq


@pytest.mark.parametrize("name", V1)
def test_all_three_are_one_value(name, opened) -> None:
    ticks = START + np.array([0, 0, 5, 2, 2, 9])
    plain, other = opened("mysql-uuid", ticks).take(6), opened(name, ticks).take(6)
    expected = stored(plain, "mysql-swap") if name == "percona-ordered-uuid" else plain.data
    assert np.array_equal(other.data, expected)


@given(steps=st.lists(st.integers(0, 6), min_size=1, max_size=60))
def test_a_server_equals_my_uuid_call_by_call(steps, opened) -> None:
    """my_uuid.c: it borrows ticks, gives them back, and draws a clock sequence at each step back."""
    entropy = AesEntropy.seeded("my_uuid")
    drawn = entropy.take(1, 8).tobytes()
    sequence, last, borrowed = int.from_bytes(drawn[:2]) * 16_383 >> 16, 0, 0
    expected = []
    for step in steps:
        now = START - GREGORIAN + step
        time = now + borrowed
        if time > last:
            if borrowed:
                back = min(borrowed, time - last - 1)
                time, borrowed = time - back, borrowed - back
        else:
            if time == last:
                borrowed, time = borrowed + 1, time + 1
            if time <= last:
                sequence = int.from_bytes(entropy.take(1, 2).tobytes()) * 16_383 >> 16
                time, borrowed = now, 0
        last = time
        expected.append((time + GREGORIAN, sequence))
    keys = opened("mysql-uuid", START + np.array(steps), entropy=AesEntropy.seeded("my_uuid")).take(len(steps))
    decoded = layout("mysql-uuid").decode(keys)
    assert list(zip(decoded.ticks.tolist(), decoded.fields["clock_sequence"].tolist(), strict=True)) == expected
    assert (decoded.fields["node"] == int.from_bytes(drawn[2:]) | 1 << 40).all()


# Percona 2019


@given(moment=MOMENTS)
@example(moment=datetime.datetime(2023, 1, 1))
@example(moment=datetime.datetime(2022, 1, 1))
@example(moment=datetime.datetime(2024, 12, 31))
def test_weeks_are_those_of_mode_0(moment) -> None:
    ticks = ticks_of(moment.replace(tzinfo=datetime.UTC))
    years, weeks = years_and_weeks(np.array([ticks]))
    assert (years.tolist(), weeks.tolist()) == ([moment.year], [int(moment.strftime("%U"))])


@given(numbers=st.lists(st.integers(0, (1 << 30) - 2), min_size=1, max_size=20))
@example(numbers=[0, 1, 107, 107_374, (1 << 30) - 2])
def test_random_numbers_as_text(numbers) -> None:
    texts = [text_of_random(number) for number in numbers]
    assert [float(text) for text in texts] == [number / ((1 << 30) - 1) for number in numbers]
    assert all(set(text) <= set("0.123456789") for text in texts)
    assert all(len(text) <= 29 for text in texts)


@given(
    moments=st.lists(
        st.datetimes(datetime.datetime(1970, 1, 1), datetime.datetime(9999, 12, 31)), min_size=1, max_size=9
    ),
    seed=st.integers(0, 99),
)
def test_a_percona_key_is_the_functions_text(moments, seed, opened) -> None:
    ticks = [ticks_of(moment.replace(tzinfo=datetime.UTC)) for moment in moments]
    keys = opened("percona-week", ticks, entropy=AesEntropy.seeded(seed)).take(len(ticks))
    states = AesEntropy.seeded(seed).take(len(ticks), 4).view(">u4")[:, 0] >> 2
    for guid, moment, state in zip(guids(keys), moments, states.tolist(), strict=True):
        rand = np.format_float_positional(state % ((1 << 30) - 1) / ((1 << 30) - 1), trim="-")
        value = hashlib.md5(f"{rand}{moment:%Y-%m-%d %H:%M:%S.%f}".encode()).hexdigest()
        week = hashlib.md5(f"{moment.year}{int(moment.strftime('%U'))}".encode()).hexdigest()[:4]
        text = f"{week}{value[:4]}-{value[4:8]}-4{value[8:11]}-{value[12:16]}-{value[16:28]}"
        assert guid == text


# sequential-uuids


def test_blocks_of_a_sequence_start_again_after_the_last(opened) -> None:
    size, blocks = 65_536, 65_536
    numbers = np.array([1, size, size + 1, size * blocks, size * blocks + 1])
    keys = opened("tvondra-sequence", [], process=Process("h", 1, planned=numbers)).take(5)
    assert layout("tvondra-sequence").decode(keys).fields["block"].tolist() == [0, 0, 1, blocks - 1, 0]
    assert {uuid.UUID(guid).version for guid in guids(keys)} == {4}


def test_blocks_of_time_start_again_every_45_days(opened) -> None:
    minute = 60 * TICKS_PER_SECOND
    ticks = UNIX_EPOCH + np.array([0, minute - 1, minute, (minute << 16) - 1, minute << 16])
    keys = opened("tvondra-time", [*ticks, DATETIME_LAST]).take(6)
    last = (DATETIME_LAST - UNIX_EPOCH) // minute % 65_536
    assert layout("tvondra-time").decode(keys).fields["block"].tolist() == [0, 0, 1, 65_535, 0, last]
    assert layout("tvondra-time").decode(keys).ticks is None
    with pytest.raises(UsageError, match=r"^tvondra-time keys hold instants from 1970-01-01"):
        opened("tvondra-time", [UNIX_EPOCH - 1]).take(1)


def test_writers_share_the_sequence(opened) -> None:
    whole = Process("h", 1)
    parts = [opened("tvondra-sequence", [], process=whole.partition(i, of=2)).take(65_537) for i in range(2)]
    found = [layout("tvondra-sequence").decode(part).fields["block"] for part in parts]
    assert [part[[32_767, 32_768, -1]].tolist() for part in found] == [[0, 1, 2]] * 2


# Oracle


def test_sys_guid_vector(vectors, guids_of, opened) -> None:
    (vector,) = vectors("oracle_sys_guid")
    said = vector["decomposed"]
    fields = layout("oracle-sys-guid").decode(guids_of([vector["inputs"]["hex"].lower()])).fields
    assert fields["counter"] == said["counter48"]
    assert fields["pid"] == said["spid16"]
    assert fields["host"] == int.from_bytes(bytes.fromhex(said["host_id32_le"]), "little")
    entropy = ScriptedEntropy(said["counter48"].to_bytes(6) + bytes.fromhex(said["unknown"]))
    keys = opened("oracle-sys-guid", [], entropy=entropy, process=Process("testhost", 0x5_0000 | said["spid16"])).take(
        2
    )
    host = hashlib.md5(b"testhost").digest()[:4].hex()
    assert [row.tobytes().hex() for row in keys.data] == [
        f"{said['counter48'] + i:012x}259de063{host}29bd" for i in range(2)
    ]
