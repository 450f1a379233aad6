"""Every golden vector of these layouts, through their streams and `decode`."""

from uuid import UUID

import numpy as np
import pytest

from keybench.errors import UsageError
from keybench.generators.core.clock import TICKS_PER_MS, TICKS_PER_SECOND, UNIX_EPOCH, VirtualClock
from keybench.generators.core.layout import layout
from keybench.generators.core.process import Process
from tests.generators.scripted import ScriptedEntropy, ScriptedGuids

COMBS = {
    "rtcomb_sql_unix": layout("rt-comb-sql"),
    "rtcomb_sql_legacy": layout("rt-comb-legacy"),
    "rtcomb_pg_unix": layout("rt-comb-postgresql"),
    "rtcomb_pg_sqldatetime": layout("rt-comb-postgresql-legacy"),
    "rtcomb_binary_unix": layout("rt-comb-oracle"),
    "rtcomb_binary_sqldatetime": layout("rt-comb-oracle-legacy"),
}


def scripted_guids(vector):
    return ScriptedGuids(np.frombuffer(UUID(vector["inputs"]["base_guid"]).bytes, np.uint8).reshape(1, 16))


def check_bytes(vector, keys):
    (row,) = keys.data
    assert row.tobytes() == UUID(vector["guid"]).bytes == bytes.fromhex(vector["rfc_bytes"])


@pytest.mark.parametrize("name", COMBS)
def test_rt_comb(name, vectors, opened) -> None:
    for vector in vectors(name):
        keys = opened(COMBS[name], [vector["inputs"]["ticks"]], guids=scripted_guids(vector)).take(1)
        check_bytes(vector, keys)
        decoded, expected = COMBS[name].decode(keys), vector["extracted"]
        if COMBS[name].sql_dates:
            assert decoded.ticks == expected["ticks_net7plus"]
            assert decoded.fields["ticks_before_net7"] == expected["ticks_netfx_to_net6"]
        else:
            assert decoded.ticks == expected["ticks"]


@pytest.mark.parametrize(
    ("reader", "field", "read"),
    [
        ("rtcomb_sql_legacy", "read_by_legacy_ticks_netfx", lambda decoded: decoded.fields["ticks_before_net7"]),
        ("rtcomb_pg_unix", "read_by_pg_unix_ticks", lambda decoded: decoded.ticks),
        ("rtcomb_binary_unix", "read_by_binary_unix_ticks", lambda decoded: decoded.ticks),
    ],
)
def test_rt_comb_read_by_the_wrong_provider(reader, field, read, vectors, guids_of) -> None:
    outcomes = set()
    for vector in vectors("wrong_provider_read"):
        keys, expected = guids_of([vector["guid"]]), vector[field]
        outcomes.add(type(expected))
        if isinstance(expected, str):
            with pytest.raises(UsageError, match=f"^{vector['guid']} is no "):
                COMBS[reader].decode(keys)
        else:
            assert read(COMBS[reader].decode(keys)) == expected
    assert int in outcomes


def test_rt_comb_legacy_readout(vectors, guids_of) -> None:
    for vector in vectors("sqldatetime_readout"):
        days, units = vector["inputs"]["days"], vector["inputs"]["n300"]
        keys = guids_of([f"00000000-0000-0000-0000-{days:04x}{units:08x}"])
        if isinstance(vector["extracted_ticks_netfx"], str):
            with pytest.raises(UsageError, match="its time component exceeds 24 hours"):
                layout("rt-comb-legacy").decode(keys)
            continue
        decoded = layout("rt-comb-legacy").decode(keys)
        assert decoded.ticks == vector["extracted_ticks_net7plus"]
        assert decoded.fields["ticks_before_net7"] == vector["extracted_ticks_netfx"]


@pytest.mark.parametrize("form", ["string", "binary", "end"])
def test_jhtodd(form, vectors, opened) -> None:
    for vector in vectors(f"jhtodd_{form}"):
        inputs = vector["inputs"]
        entropy = ScriptedEntropy(bytes.fromhex(inputs["random10"]))
        keys = opened(f"jhtodd-{form}", [inputs["ticks"]], entropy=entropy).take(1)
        check_bytes(vector, keys)
        assert layout(f"jhtodd-{form}").decode(keys).ticks == vector["extracted"]["ticks"]


def test_morris_bytes(vectors, opened) -> None:
    for vector in vectors("petermorris"):
        value, process = vector["inputs"]["value"], bytes.fromhex(vector["inputs"]["process_id8"])
        keys = opened("morris", [0], start=value - 1, entropy=ScriptedEntropy(process)).take(1)
        check_bytes(vector, keys)
        decoded = layout("morris").decode(keys)
        assert decoded.ticks == vector["extracted"]["ticks"]
        assert decoded.fields["process"] == int.from_bytes(process, "big")


def test_morris_sequence(vectors, opened) -> None:
    for vector in vectors("petermorris_longgenerator"):
        inputs = vector["inputs"]
        stream = opened("morris", [*inputs["clock"], 0], start=inputs["last_init"])
        assert layout("morris").decode(stream.take(len(inputs["clock"]))).ticks.tolist() == vector["results"]
        # After the clock steps back, the sequence counts up from its last value.
        assert layout("morris").decode(stream.take(1)).ticks == vector["final_last"] + 1


def test_efcore(vectors, opened) -> None:
    for vector in vectors("efcore_sequential"):
        counter = vector["inputs"]["counter_after_increment"]
        keys = opened("efcore-sequential", [], start=counter - 1, guids=scripted_guids(vector)).take(1)
        check_bytes(vector, keys)
        decoded = layout("efcore-sequential").decode(keys)
        assert decoded.fields["counter"] == vector["extracted"]["ticks"] == counter
        assert decoded.ticks is None, "the counter is no key's time"


def hotguid_entropy(start: int) -> ScriptedEntropy:
    """The four bytes from which the counter starts at `start`."""
    return ScriptedEntropy((-(-(start << 32) // 500_000)).to_bytes(4, "big"))


def test_hotguid(vectors, opened) -> None:
    for vector in vectors("hotguid"):
        inputs = vector["inputs"]
        used = inputs["counter_after_increment"]
        start = min(used - 1, 499_999)
        readings = np.broadcast_to(np.int64(inputs["ticks"]), used - start)
        process = Process(inputs["machine_name"], inputs["pid"], shard=inputs["shard"])
        stream = layout("hotguid").stream(process, VirtualClock(readings), hotguid_entropy(start))
        for skipped in range(0, used - 1 - start, 1 << 20):
            stream.take(min(1 << 20, used - 1 - start - skipped))
        keys = stream.take(1)
        check_bytes(vector, keys)
        decoded = layout("hotguid").decode(keys)
        assert decoded.ticks == UNIX_EPOCH + vector["extracted"]["unix_seconds"] * TICKS_PER_SECOND
        fields = {name: int(values[0]) for name, values in decoded.fields.items()}
        assert fields == {
            "shard": vector["shard"],
            "counter": used & 0xFFFFFF,
            "pid": inputs["pid"] & 0xFFFF,
            "machine": 0x1C0D19,
        }


def test_uuid_v4(vectors, opened) -> None:
    for vector in vectors("rfc9562_v4"):
        entropy = ScriptedEntropy(bytes.fromhex(vector["inputs"]["random16"]))
        check_bytes(vector, opened("uuid-v4", [], entropy=entropy).take(1))


def test_uuid_v7(vectors, opened) -> None:
    for vector in vectors("rfc9562_v7"):
        inputs = vector["inputs"]
        random = bytes(6) + inputs["rand_a"].to_bytes(2, "big") + inputs["rand_b"].to_bytes(8, "big")
        ticks = UNIX_EPOCH + inputs["unix_ms"] * TICKS_PER_MS
        keys = opened("uuid-v7", [ticks], entropy=ScriptedEntropy(random)).take(1)
        check_bytes(vector, keys)
        assert layout("uuid-v7").decode(keys).ticks == ticks
