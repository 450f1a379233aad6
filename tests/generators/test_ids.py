"""ULID, KSUID, ObjectId, xid, the 64-bit ids, push ID, CUID2, NanoID, and numbers in blocks."""

import base64
import hashlib
import string

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from keybench.errors import UsageError
from keybench.generators.core.alphabets import PUSH64
from keybench.generators.core.clock import TICKS_PER_MS, TICKS_PER_SECOND, UNIX_EPOCH
from keybench.generators.core.layout import layout
from keybench.generators.core.process import Process
from keybench.generators.text_ids import ALPHABET
from keybench.model.keys import Keys
from tests.errors import raised
from tests.generators.scripted import ScriptedEntropy

START = 637_811_545_420_000_000
INSTAGRAM = UNIX_EPOCH + 1_314_220_021_721 * TICKS_PER_MS
RANGED = [
    "flakeid", "instagram", "ksuid", "ksuid-text", "objectid", "pushid", "snowflake", "snowflake-discord", "sonyflake",
    "tsid", "tsid-text", "ulid", "ulid-monotonic", "ulid-monotonic-text", "ulid-text", "xid", "xid-text",
]  # fmt: skip
WORKERS = {
    "snowflake": 1 << 10,
    "snowflake-discord": 1 << 10,
    "instagram": 1 << 13,
    "sonyflake": 1 << 16,
    "tsid": 1 << 10,
}


def ms(milliseconds: int) -> int:
    return UNIX_EPOCH + milliseconds * TICKS_PER_MS


def text(*values: str) -> Keys:
    return Keys(np.array([list(value.encode()) for value in values], np.uint8), "text")


def raw(*values: str, kind: str = "bytes") -> Keys:
    return Keys(np.array([list(bytes.fromhex(value)) for value in values], np.uint8), kind)


def texts(keys: Keys) -> list[str]:
    return [row.tobytes().decode() for row in keys.data]


def hexes(keys: Keys) -> list[str]:
    return [row.tobytes().hex() for row in keys.data]


def worker(index: int) -> Process:
    return Process("testhost", 74_565, index=index, of=index + 1)


# What holds for all of them


@pytest.mark.parametrize("name", WORKERS)
def test_a_worker_id_that_does_not_fit_is_refused(name, opened) -> None:
    count = WORKERS[name]
    assert layout(name).description.worker_ids == count
    last = layout(name).decode(opened(name, [START], process=worker(count - 1)).take(1)).fields
    assert last.get("worker", last.get("node")) == count - 1
    assert raised(UsageError, opened, name, [START], process=worker(count)) == (
        f"{name} has room for worker ids 0 to {count - 1}, and this is writer {count} of {count + 1}: "
        "use fewer writers, or a layout with more bits for them."
    )


@pytest.mark.parametrize("name", ["snowflake", "snowflake-discord", "flakeid"])
def test_a_step_back_is_refused(name, opened) -> None:
    message = f"the clock went back by 3 ms, and {name} makes no key until it has caught up, as upstream: "
    for cut in (0, 2):
        stream = opened(name, START + np.array([0, 9, 6]) * TICKS_PER_MS)
        stream.take(cut)
        assert raised(UsageError, stream.take, 3 - cut) == message + "use a clock that does not step back."


@pytest.mark.parametrize("name", [name for name in RANGED if layout(name).kind == "text"])
def test_a_text_with_another_character_is_refused(name, opened) -> None:
    keys = opened(name, [START]).take(1)
    keys.data[0, 3] = ord("!")
    with pytest.raises(UsageError, match=f"^'...!.*' is no {name} key: it holds a character outside of "):
        layout(name).decode(keys)


@pytest.mark.parametrize(("name", "width"), [("ksuid", 20), ("objectid", 12), ("tsid-text", 13)])
def test_keys_of_another_width_are_refused(name, width) -> None:
    known = layout(name)
    unit = "characters" if known.kind == "text" else "bytes"
    message = f"^these keys have 9 {unit}, and {name} keys have {width}: name the layout that made them"
    with pytest.raises(UsageError, match=message):
        known.decode(Keys(np.zeros((1, 9), np.uint8), known.kind))


# ULID


def test_ulid_vectors(vectors, opened) -> None:
    for vector in vectors("ulid"):
        data, milliseconds = bytes.fromhex(vector["inputs"]["bytes"]), vector["extracted"]["unix_ms"]
        for name, expected in (("ulid", data.hex()), ("ulid-text", vector["text"].encode().hex())):
            keys = opened(name, [ms(milliseconds)], entropy=ScriptedEntropy(data[6:])).take(1)
            assert hexes(keys) == [expected]
            assert layout(name).decode(keys).ticks == ms(milliseconds)


def test_monotonic_ulid_vector(vectors, opened) -> None:
    (vector,) = vectors("ulid_monotonic")
    milliseconds = vector["extracted"]["unix_ms"]
    random = bytes.fromhex(vector["inputs"]["bytes"][0])[6:]
    # When the clock stands still or steps back, the 80 bits count up.
    readings = [ms(milliseconds), ms(milliseconds) - 99]
    for name, expected in (("ulid-monotonic", vector["inputs"]["bytes"]), ("ulid-monotonic-text", vector["text"])):
        keys = opened(name, readings, entropy=ScriptedEntropy(random)).take(2)
        assert (texts(keys) if keys.kind == "text" else hexes(keys)) == expected
        assert layout(name).decode(keys).ticks.tolist() == [ms(milliseconds)] * 2


@pytest.mark.parametrize("cut", [1, 2])
def test_monotonic_ulids_carry_into_the_high_bits_until_all_are_used(cut, opened) -> None:
    random = bytes.fromhex("fffeffffffffffffffff")
    stream = opened("ulid-monotonic", [START] * 3, entropy=ScriptedEntropy(random))
    keys = Keys.concat([stream.take(cut), stream.take(3 - cut)])
    assert [row[12:] for row in hexes(keys)] == ["fffeffffffffffffffff", "ffff0000000000000000", "ffff0000000000000001"]
    full = opened("ulid-monotonic", [START] * 2, entropy=ScriptedEntropy(b"\xff" * 10))
    with pytest.raises(UsageError, match=r"^ulid-monotonic: the 80 random bits of a millisecond are used up"):
        full.take(2)


def test_a_ulid_text_above_the_greatest_is_refused() -> None:
    with pytest.raises(UsageError, match=r"^'8Z{25}' is no ulid-text key: the greatest begins with 7\."):
        layout("ulid-text").decode(text("8" + "Z" * 25))


# KSUID


def test_ksuid_vectors(vectors, opened) -> None:
    for vector in vectors("ksuid"):
        data = bytes.fromhex(vector["inputs"]["bytes"])
        seconds = int.from_bytes(data[:4]) + 1_400_000_000
        assert vector.get("extracted", {}).get("unix", seconds) == seconds
        ticks = UNIX_EPOCH + seconds * TICKS_PER_SECOND
        assert hexes(opened("ksuid", [ticks], entropy=ScriptedEntropy(data[4:])).take(1)) == [data.hex()]
        keys = opened("ksuid-text", [ticks], entropy=ScriptedEntropy(data[4:])).take(1)
        assert texts(keys) == [vector["text"]]
        assert layout("ksuid-text").decode(keys).ticks == layout("ksuid").decode(raw(data.hex())).ticks == ticks


def test_a_ksuid_text_above_the_greatest_is_refused() -> None:
    keys = text("aWgEPTl1tmebfsQzFP4bxwgy80V", "aWgEPTl1tmebfsQzFP4bxwgy80W")
    said = raised(UsageError, layout("ksuid-text").decode, keys)
    assert said.startswith("'aWgEPTl1tmebfsQzFP4bxwgy80W' is no ksuid-text key: the greatest is aWgEPT")


# ObjectId, xid


def test_objectid_vector(vectors, opened) -> None:
    (vector,) = vectors("objectid")
    data, seconds = bytes.fromhex(vector["inputs"]["bytes"]), vector["extracted"]["unix"]
    ticks = UNIX_EPOCH + seconds * TICKS_PER_SECOND
    keys = opened("objectid", [ticks], entropy=ScriptedEntropy(data[4:])).take(1)
    assert hexes(keys) == [data.hex()]
    decoded = layout("objectid").decode(keys)
    assert decoded.ticks == ticks
    assert decoded.fields == {"counter": int.from_bytes(data[9:]), "process": int.from_bytes(data[4:9])}


def test_the_counter_wraps_without_an_error(opened) -> None:
    stream = opened("objectid", [START] * 3, entropy=ScriptedEntropy(b"abcde" + b"\xff\xff\xfe"))
    decoded = layout("objectid").decode(Keys.concat([stream.take(1), stream.take(2)]))
    assert decoded.fields["counter"].tolist() == [0xFFFFFE, 0xFFFFFF, 0]


def test_xid_is_machine_process_and_counter(opened) -> None:
    """The first counter used is one above the start."""
    keys = opened("xid", [START], entropy=ScriptedEntropy(b"\x01\x02\x03"), process=Process("db1", 0x12345)).take(1)
    seconds = (START - UNIX_EPOCH) // TICKS_PER_SECOND
    machine = hashlib.sha256(b"db1").digest()[:3]
    assert hexes(keys) == [seconds.to_bytes(4).hex() + machine.hex() + "2345" + "010204"]
    fields = layout("xid").decode(keys).fields
    assert fields == {"counter": 0x010204, "machine": int.from_bytes(machine), "pid": 0x2345}


@given(start=st.integers(0, (1 << 24) - 1), pid=st.integers(1, 1 << 22))
def test_xid_text_is_base_32(start, pid, opened) -> None:
    process, script = Process("testhost", pid), start.to_bytes(3)
    data = opened("xid", [START], entropy=ScriptedEntropy(script), process=process).take(1)
    keys = opened("xid-text", [START], entropy=ScriptedEntropy(script), process=process).take(1)
    expected = base64.b32hexencode(data.data.tobytes()).decode().rstrip("=").lower()
    assert texts(keys) == [expected]
    read, of_bytes = layout("xid-text").decode(keys), layout("xid").decode(data)
    assert read.ticks == of_bytes.ticks
    assert read.fields == of_bytes.fields


# 64-bit ids


@pytest.mark.parametrize(
    ("vector_name", "name", "parts"),
    [
        ("snowflake_twitter", "snowflake", ("machine",)),
        ("snowflake_discord", "snowflake-discord", ("worker", "process")),
    ],
)
def test_snowflake_vectors(vector_name, name, parts, vectors, opened) -> None:
    (vector,) = vectors(vector_name)
    said = vector["extracted"]
    number = int("".join(f"{said[part]:0{10 // len(parts)}b}" for part in parts), 2)
    sequence = said.get("sequence", said.get("increment"))
    keys = opened(name, [ms(said["unix_ms"])] * 8, process=worker(number)).take(8)
    assert keys.data[sequence] == vector["inputs"]["id"]
    decoded = layout(name).decode(keys[sequence : sequence + 1])
    assert decoded.ticks == ms(said["unix_ms"])
    assert decoded.fields == {"worker": number, "sequence": sequence}


def test_instagram_vector(vectors, opened) -> None:
    (vector,) = vectors("instagram")
    inputs = vector["inputs"]
    ticks = np.full(inputs["seq"], INSTAGRAM + inputs["ms"] * TICKS_PER_MS)
    keys = opened("instagram", ticks, process=worker(inputs["shard"])).take(inputs["seq"])
    assert keys.data[-1] == vector["id"]
    fields = layout("instagram").decode(keys[-1:]).fields
    assert fields == {"worker": inputs["shard"], "sequence": inputs["seq"] % 1024}
    assert keys.data[1024] == keys.data[0], "upstream repeats after 1,024 keys of a millisecond"


@pytest.mark.parametrize(("name", "per_quantum"), [("snowflake", 4096), ("sonyflake", 256)])
def test_a_full_sequence_moves_the_time_ahead(name, per_quantum, opened) -> None:
    n = per_quantum + 2
    quantum = layout(name).description.time.resolution
    decoded = layout(name).decode(opened(name, [START] * n + [START + quantum]).take(n + 1))
    assert decoded.fields["sequence"][-4:].tolist() == [per_quantum - 1, 0, 1, 2]
    assert np.diff(decoded.ticks[-4:]).tolist() == [quantum, 0, 0]
    with pytest.raises(UsageError, match=f"^{name} keys end with "):
        opened(name, [layout(name).description.time.last] * n).take(n)


@given(readings=st.lists(st.integers(0, 5), min_size=1, max_size=40))
def test_sonyflake_is_next_id_call_by_call(readings, opened) -> None:
    elapsed, sequence, expected = 0, 255, []
    start = (START - layout("sonyflake").description.time.first) // 100_000
    for reading in readings:
        if elapsed < start + reading:
            elapsed, sequence = start + reading, 0
        else:
            sequence = sequence + 1 & 255
            elapsed += sequence == 0
        expected.append(elapsed << 24 | sequence << 16 | 9)
    ticks = layout("sonyflake").description.time.first + (start + np.array(readings)) * 100_000
    assert opened("sonyflake", ticks, process=worker(9)).take(len(readings)).data.tolist() == expected


def test_tsid_vector(vectors, opened) -> None:
    (vector,) = vectors("tsid")
    number, milliseconds = vector["inputs"]["number"], vector["extracted"]["unix_ms"]
    process, entropy = worker(number >> 12 & 1023), (number & 0xFFF).to_bytes(2)
    assert opened("tsid", [ms(milliseconds)], process=process, entropy=ScriptedEntropy(entropy)).take(1).data == number
    keys = opened("tsid-text", [ms(milliseconds)], process=process, entropy=ScriptedEntropy(entropy)).take(1)
    assert texts(keys) == [vector["text"]]
    for read in (layout("tsid-text").decode(keys), layout("tsid").decode(Keys(np.array([number]), "int"))):
        assert read.ticks == ms(milliseconds)
        assert read.fields == {"node": number >> 12 & 1023, "counter": number & 0xFFF}


@pytest.mark.parametrize("cut", [0, 3, 5])
def test_a_tsid_counter_that_overflows_moves_to_the_next_millisecond(cut, opened) -> None:
    """The next millisecond uses the start that was drawn for the skipped one."""
    ticks = START + np.array([0, 0, 1, 1, 2, 3]) * TICKS_PER_MS
    script = ScriptedEntropy(bytes.fromhex("ffff 0005 0007 0009".replace(" ", "")))
    stream = opened("tsid", ticks, entropy=script)
    decoded = layout("tsid").decode(Keys.concat([stream.take(cut), stream.take(6 - cut)]))
    assert ((decoded.ticks - START) // TICKS_PER_MS).tolist() == [0, 1, 1, 1, 2, 3]
    assert decoded.fields["counter"].tolist() == [4095, 0, 1, 2, 5, 7]


# flake, push ID


def test_flakes_count_from_the_servers_start_on(opened) -> None:
    ticks = START + np.array([0, 0, 1, 1, 7]) * TICKS_PER_MS
    read = [
        layout("flakeid").decode(opened("flakeid", ticks, start=start, process=worker(5)).take(5))
        for start in (START, START - TICKS_PER_MS)
    ]
    assert [fields.fields["sequence"].tolist() for fields in read] == [[1, 2, 0, 1, 0], [0, 1, 0, 1, 0]]
    assert read[0].fields["worker"].tolist() == [5] * 5
    keys = opened("flakeid", [START], start=UNIX_EPOCH, process=worker(5)).take(1)
    assert hexes(keys) == [f"{(START - UNIX_EPOCH) // TICKS_PER_MS:016x}0000000000050000"]
    last = opened("flakeid", [START], start=UNIX_EPOCH, process=worker((1 << 48) - 1)).take(1)
    assert hexes(last)[0].endswith("ffffffffffff0000")
    assert layout("flakeid").decode(last).fields["worker"] == (1 << 48) - 1


def test_pushid_vector(vectors, opened) -> None:
    (vector,) = vectors("firebase_pushid")
    expected, milliseconds = vector["inputs"]["text"], vector["extracted"]["unix_ms"]
    random = bytes(PUSH64.index(character.encode()) << 2 for character in expected[8:])
    keys = opened("pushid", [ms(milliseconds)], entropy=ScriptedEntropy(random)).take(1)
    assert texts(keys) == [expected]
    assert layout("pushid").decode(keys).ticks == ms(milliseconds)


@pytest.mark.parametrize("cut", [0, 1, 2, 4])
def test_push_ids_count_only_within_a_millisecond(cut, opened) -> None:
    """The 72 bits carry, wrap without an error, and are drawn again for an earlier millisecond too."""
    ticks = START + np.array([0, 0, 0, -1, 1]) * TICKS_PER_MS
    script = ScriptedEntropy(b"\x00" * 5 + b"\x04" + b"\xff" * 6 + b"\x08" * 12 + b"\xff" * 12)
    stream = opened("pushid", [*ticks, ticks[-1]], entropy=script)
    random = [value[8:] for value in texts(Keys.concat([stream.take(cut), stream.take(6 - cut)]))]
    assert random == ["-----0zzzzzz", "-----1------", "-----1-----0", "1" * 12, "z" * 12, "-" * 12]


# CUID2, NanoID


@given(script=st.binary(min_size=33 * 4 + 200, max_size=33 * 4 + 200), milliseconds=st.integers(0, 1 << 45))
@example(script=bytes(332), milliseconds=0)
def test_cuid2_is_the_published_recipe(script, milliseconds, opened) -> None:
    digits = string.digits + string.ascii_lowercase

    def in_36(number: int) -> str:
        return (in_36(number // 36) if number >= 36 else "") + digits[number % 36]

    def hashed(source: str) -> str:
        return in_36(int.from_bytes(hashlib.sha3_512(source.encode()).digest()))[1:]

    draws = iter([int.from_bytes(script[at : at + 4], "little") / 2**32 for at in range(0, len(script), 4)])
    count = int(next(draws) * 476_782_367)
    fingerprint = hashed("".join(digits[int(next(draws) * 36)] for _ in range(32)))[:32]
    expected = []
    for _ in range(2):
        letter = string.ascii_lowercase[int(next(draws) * 26)]
        salt = "".join(digits[int(next(draws) * 36)] for _ in range(24))
        expected.append(letter + hashed(in_36(milliseconds) + salt + in_36(count) + fingerprint)[1:24])
        count += 1
    keys = opened("cuid2", [ms(milliseconds)] * 2, entropy=ScriptedEntropy(script)).take(2)
    assert texts(keys) == expected


def test_nanoid_takes_six_bits_of_each_byte(opened) -> None:
    script = bytes(range(43, 64))
    keys = opened("nanoid", [], entropy=ScriptedEntropy(script + bytes(byte | 0xC0 for byte in script))).take(2)
    assert texts(keys) == [ALPHABET[43:].decode()] * 2
    assert len(set(ALPHABET)) == 64


@pytest.mark.parametrize("name", ["cuid2", "nanoid"])
def test_random_texts_cannot_be_decoded(name, opened) -> None:
    with pytest.raises(UsageError, match=f"^{name} keys hold no time and no counter"):
        layout(name).decode(opened(name, [START]).take(1))


# Numbers in blocks


@pytest.mark.parametrize(("name", "size"), [("bigint-cached", 20), ("bigint-hilo", 10)])
def test_writers_take_blocks_in_turns(name, size, opened) -> None:
    whole = Process("h", 1)
    parts = [opened(name, [], process=whole.partition(i, of=3)).take(2 * size + 1).data for i in range(3)]
    assert parts[1][[0, size - 1, size, -1]].tolist() == [size + 1, 2 * size, 4 * size + 1, 7 * size + 1]
    every = np.sort(np.concatenate([part[: 2 * size] for part in parts]))
    assert np.array_equal(every, np.arange(1, 6 * size + 1)), "all numbers, each once"
