"""Generators for .NET with a base GUID, or random bytes, and one clock reading a key."""

from uuid import UUID

import numpy as np
import pytest

from keybench.errors import UsageError
from keybench.generators.buvinghausen import get_int32
from keybench.generators.core.clock import EPOCH_1900, TICKS_PER_MS, TICKS_PER_SECOND, UNIX_EPOCH
from keybench.generators.core.entropy import AesEntropy
from keybench.generators.core.layout import layout
from tests.generators.scripted import ScriptedEntropy, ScriptedGuids

DAY = 86_400 * TICKS_PER_SECOND
U48 = 1 << 48


def base(text: str) -> ScriptedGuids:
    return ScriptedGuids(np.frombuffer(UUID(text).bytes, np.uint8).reshape(1, 16))


def key_of(keys) -> str:
    (row,) = keys.data
    return str(UUID(bytes=row.tobytes()))


# Guid.CreateVersion7 and GetInt32


def test_dotnet_v7_vectors(vectors, opened) -> None:
    for vector in vectors("dotnet_v7"):
        inputs, guids = vector["inputs"], base(vector["inputs"]["base_guid"])
        keys = opened("dotnet-v7", [inputs["ticks"]], guids=guids).take(1)
        assert key_of(keys) == vector["guid"]
        assert layout("dotnet-v7").decode(keys).ticks == UNIX_EPOCH + inputs["unix_ms"] * TICKS_PER_MS
        entropy = ScriptedEntropy(UUID(inputs["base_guid"]).bytes)
        assert key_of(opened("dotnet-v7", [inputs["ticks"]], entropy=entropy).take(1)) == vector["guid"]


def test_dotnet_v7_is_uuid_v7_with_random_base_guids(opened) -> None:
    ticks = UNIX_EPOCH + np.arange(500) * 7_777
    assert np.array_equal(opened("dotnet-v7", ticks).take(500).data, opened("uuid-v7", ticks).take(500).data)
    assert layout("npgsql-sequential") is layout("dotnet-createversion7") is layout("dotnet-v7")


@pytest.mark.parametrize(
    ("script", "below", "drawn"),
    [("01000000", 512, 1), ("ffffffff", 512, 511), ("00020000", 512, 0), ("1fa10700", 500_000, 499_999),
     ("20a1070005000000", 500_000, 5), ("20a1ffffffffffff00000800", 500_000, 0), ("00000000", 1, 0)],
)  # fmt: skip
def test_get_int32_masks_and_tries_again(script, below, drawn) -> None:
    entropy = ScriptedEntropy(bytes.fromhex(script) + b"\xa5")
    assert get_int32(entropy, below) == drawn
    assert entropy.take(1, 1).tolist() == [[0xA5]], "four bytes a try"


def test_get_int32_is_even() -> None:
    entropy = AesEntropy.seeded("dice")
    counts = np.bincount([get_int32(entropy, 6) for _ in range(6_000)], minlength=6)
    assert len(counts) == 6
    assert np.abs(counts - 1_000).max() < 150


# NHibernate guid.comb


def test_nhibernate_vectors(vectors, opened) -> None:
    for vector in vectors("nhibernate_comb"):
        inputs = vector["inputs"]
        keys = opened("nhibernate-comb", [inputs["ticks"]], guids=base(inputs["base_guid"])).take(1)
        assert key_of(keys) == vector["guid"]


def test_nhibernate_exceeds_the_day_of_rt_comb(opened) -> None:
    midnight = EPOCH_1900 + 46_000 * DAY
    keys = opened("nhibernate-comb", [midnight + DAY - 1]).take(1)
    assert int.from_bytes(keys.data[0, 12:].tobytes(), "big") == 25_920_002
    assert layout("nhibernate-comb").decode(keys).ticks[0] < midnight + DAY
    with pytest.raises(UsageError, match="is no rt-comb-legacy key: its time component exceeds 24 hours"):
        layout("rt-comb-legacy").decode(keys)


def test_nhibernate_days_wrap_and_truncate_towards_1900(opened) -> None:
    ticks = [EPOCH_1900 + 65_536 * DAY, EPOCH_1900 - 1, EPOCH_1900 - DAY, EPOCH_1900 - DAY - 1]
    data = opened("nhibernate-comb", ticks).take(4).data
    assert [int.from_bytes(row[10:12].tobytes(), "big") for row in data] == [0, 0, 65_535, 65_535]


# Marten


def test_marten_vectors(vectors, opened) -> None:
    for vector in vectors("jasperfx_comb"):
        ticks = UNIX_EPOCH + vector["inputs"]["unix_ms"] * TICKS_PER_MS
        keys = opened("marten", [ticks], guids=base(vector["inputs"]["base_guid"])).take(1)
        assert key_of(keys) == vector["guid"]
        assert layout("jasperfx").decode(keys).ticks == ticks


def test_marten_has_no_double_arithmetic(opened) -> None:
    of_2015 = 635_634_431_990_000_000
    decoded = layout("marten").decode(opened("marten", [of_2015 + 9_999]).take(1)).ticks[0]
    assert decoded == of_2015
    assert (
        layout("rt-comb-postgresql").decode(opened("rt-comb-postgresql", [of_2015 + 9_999]).take(1)).ticks[0] > of_2015
    )


def test_marten_stores_instants_before_1970_modulo_48_bits(opened) -> None:
    data = opened("marten", [UNIX_EPOCH - 1, UNIX_EPOCH - 2 * TICKS_PER_MS]).take(2).data
    assert [int.from_bytes(row[:6].tobytes(), "big") for row in data] == [U48 - 1, U48 - 2]


def test_marten_2016_shifts_half_bytes_around_a_4(opened) -> None:
    ticks = EPOCH_1900 + 0x1234 * DAY + 20_000_000 * 100_000 // 3 + 1
    keys = opened("marten-2016", [ticks], guids=base("ffffffff-ffff-7fff-bfff-ffffffffffff")).take(1)
    # 20,000,000 is 0x1312D00: four bytes 01 31 2D 00, whose first half byte is lost before the 4.
    assert UUID(bytes=keys.data[0].tobytes()).bytes_le.hex() == "123413124d00ff7fbfffffffffffffff"


# Pomelo


@pytest.mark.parametrize(
    ("vector_layout", "name"),
    [("pomelo_mysql", "pomelo-mysql"), ("pomelo_mysql_littleendian", "pomelo-mysql-little-endian")],
)
def test_pomelo_vectors(vector_layout, name, vectors, opened) -> None:
    for vector in vectors(vector_layout):
        inputs = vector["inputs"]
        entropy = ScriptedEntropy(bytes.fromhex(inputs["random7"]))
        keys = opened(name, [inputs["ticks"]], entropy=entropy).take(1)
        assert key_of(keys) == vector["guid"]
        assert layout(name).decode(keys).ticks == vector["extracted"]["ticks"]


def test_pomelo_draws_seven_bytes_a_key(opened) -> None:
    entropy = ScriptedEntropy(bytes(range(14)))
    data = opened("pomelo-mysql", [0, 0], entropy=entropy).take(2).data
    assert [row[9:].tolist() for row in data] == [list(range(7)), list(range(7, 14))]
    with pytest.raises(LookupError):
        entropy.take(1, 1)
