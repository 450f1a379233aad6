"""HotGuid's form for SQL Server, and region and key in one shard."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from keybench.errors import UsageError
from keybench.generators import extract_shard, new
from keybench.generators.core.bits import to_sql_guid
from keybench.generators.core.clock import TICKS_PER_SECOND, UNIX_EPOCH
from keybench.generators.core.layout import layout
from keybench.model.byteorder import rank, stored
from keybench.model.keys import Keys
from tests.errors import raised
from tests.generators.scripted import ScriptedEntropy

START = 637_811_545_420_000_000
SHARDS = [0, 1, 208, 65_535, 32_465_535, 4_294_967_295]


def test_hotguid_sql_vectors(vectors, opened, texts_of) -> None:
    near = [vector for vector in vectors("hotguid") if vector["inputs"]["counter_after_increment"] < 600_000]
    assert len(near) > 10
    for vector in near:
        inputs = vector["inputs"]
        # Entropy of all ones starts the counter at 499,999.
        readings = np.full(inputs["counter_after_increment"] - 499_999, inputs["ticks"])
        stream = opened("hotguid-sql", readings, entropy=ScriptedEntropy(b"\xff" * 4), shard=inputs["shard"])
        stream.take(len(readings) - 1)
        keys = stream.take(1)
        assert texts_of(keys) == [vector["sql_guid"]]
        decoded = layout("hotguid-sql").decode(keys)
        assert decoded.ticks == UNIX_EPOCH + vector["extracted"]["unix_seconds"] * TICKS_PER_SECOND
        fields = {name: int(values[0]) for name, values in decoded.fields.items()}
        assert fields == {
            "shard": inputs["shard"],
            "counter": inputs["counter_after_increment"],
            "pid": 0x2345,
            "machine": 0x1C0D19,
        }


@pytest.mark.parametrize("number", SHARDS)
def test_both_forms_sort_the_same_each_in_its_order(number, opened) -> None:
    """As in the original's tests: 25 keys of a shard by Guid, and by SqlGuid after ToSqlGuid."""
    ticks = START + np.arange(25) * TICKS_PER_SECOND // 3
    plain = opened("hotguid", ticks, shard=number).take(25)
    for_sql = opened("hotguid-sql", ticks, shard=number).take(25)
    assert rank(plain, "rfc").tolist() == rank(for_sql, "mssql").tolist() == list(range(25))
    assert set(layout("hotguid-sql").decode(for_sql).fields["shard"].tolist()) == {number}


FORMS = ["hotguid", "hotguid-sql", "hotguid-documented", "hotguid-documented-sql"]


@pytest.mark.parametrize("name", FORMS)
@pytest.mark.parametrize("number", SHARDS)
def test_a_single_key_holds_the_shard_that_it_is_given(name, number) -> None:
    key = new(name, shard=number)
    assert extract_shard(key, name) == extract_shard(str(key), name) == number
    keys = Keys(np.frombuffer(key.bytes, np.uint8).reshape(1, 16), "uuid")
    assert layout(name).decode(keys).fields["shard"].tolist() == [number]


def test_one_counter_numbers_the_keys_of_all_shards() -> None:
    """As upstream: one generator, with the shard in the call."""
    made = [new("hotguid", shard=number) for number in (7, 8, 7)] + [new("hotguid")]
    keys = Keys(np.frombuffer(b"".join(key.bytes for key in made), np.uint8).reshape(4, 16), "uuid")
    fields = layout("hotguid").decode(keys).fields
    assert np.diff(fields["counter"]).tolist() == [1, 1, 1]
    assert fields["shard"].tolist() == [7, 8, 7, 0]


def test_the_shards_of_the_originals_keys_are_extracted(vectors) -> None:
    for vector in vectors("hotguid"):
        assert extract_shard(vector["guid"]) == vector["shard"] == vector["inputs"]["shard"]


@pytest.mark.parametrize("name", FORMS)
@given(numbers=st.lists(st.integers(0, 0xFFFF_FFFF), min_size=1, max_size=20))
def test_keys_with_other_shards_are_the_keys_of_these_shards(name, numbers, opened) -> None:
    ticks = np.full(len(numbers), START)
    keys = layout(name).with_shards(opened(name, ticks).take(len(numbers)), np.array(numbers))
    assert layout(name).shards(keys).tolist() == numbers
    for place, number in enumerate(numbers):
        same = opened(name, ticks, shard=number).take(len(numbers))
        assert same.data[place].tolist() == keys.data[place].tolist()


def test_hotguid_as_documented_byte_by_byte(opened) -> None:
    """Seconds, five random bytes, a counter with a random start, the shard; all in .NET's bytes, as ExtractShardKey."""
    seconds = np.array([0, 1, 1_700_000_000, 0x7FFF_FFFF, 0xFFFF_FFFF])
    ticks = UNIX_EPOCH + seconds * TICKS_PER_SECOND + TICKS_PER_SECOND - 1
    entropy = ScriptedEntropy(b"\x11\x22\x33\x44\x55\xff\xff\xfd")
    keys = opened("hotguid-documented", ticks, entropy=entropy, shard=0x0A0B0C0D).take(5)
    expected = [
        int(second).to_bytes(4, "little") + b"\x11\x22\x33\x44\x55" + (0xFFFFFE + i & 0xFFFFFF).to_bytes(3)
        + b"\x0d\x0c\x0b\x0a"
        for i, second in enumerate(seconds)
    ]  # fmt: skip
    assert [row.tobytes() for row in stored(keys, "net")] == expected
    decoded = layout("hotguid-documented").decode(keys)
    assert ((decoded.ticks - UNIX_EPOCH) // TICKS_PER_SECOND).tolist() == seconds.tolist()
    assert decoded.fields["process"].tolist() == [0x1122334455] * 5
    assert decoded.fields["counter"].tolist() == [0xFFFFFE, 0xFFFFFF, 0, 1, 2]


def test_the_documented_form_for_sql_server_is_the_plain_one_shuffled(opened) -> None:
    plain, for_sql = (opened(name, [START]).take(1) for name in FORMS[2:])
    data = plain.data.copy()
    to_sql_guid(data)
    assert data.tolist() == for_sql.data.tolist()


def test_the_documented_seconds_start_again_in_2106(opened) -> None:
    ticks = UNIX_EPOCH + ((1 << 32) + np.array([-1, 0, 1])) * TICKS_PER_SECOND
    decoded = layout("hotguid-documented").decode(opened("hotguid-documented", ticks).take(3))
    assert ((decoded.ticks - UNIX_EPOCH) // TICKS_PER_SECOND).tolist() == [0xFFFF_FFFF, 0, 1]


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: new("uuid-v7", shard=1), f"uuid-v7 keys hold no shard: choose one of {', '.join(sorted(FORMS))}."),
        (lambda: extract_shard(new("uuid-v4"), "uuid-v4"), "uuid-v4 keys hold no shard: choose one of "),
        (lambda: new("hotguid", shard=-1), "shard -1 does not fit 32 bits: choose one from 0 to 4294967295."),
        (lambda: new("hotguid", shard=1 << 32), "shard 4294967296 does not fit 32 bits: choose one from 0 to 4294967"),
        (lambda: new("hotguid", shard=1 << 70), f"shard {1 << 70} does not fit hotguid keys: choose a smaller one."),
        (lambda: extract_shard("seven"), "'seven' is no GUID: a GUID has 32 hexadecimal digits."),
        (lambda: extract_shard("x" * 200), f"{'x' * 80!r} is no GUID: a GUID has 32 hexadecimal digits."),
    ],
)
def test_a_shard_that_cannot_be_is_refused(call, message) -> None:
    assert raised(UsageError, call).startswith(message)
