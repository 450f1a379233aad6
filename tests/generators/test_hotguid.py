"""HotGuid's form for SQL Server, and region and key in one shard."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from keybench.errors import UsageError
from keybench.generators.core.clock import TICKS_PER_SECOND, UNIX_EPOCH
from keybench.generators.core.layout import layout
from keybench.generators.hotguid import shard, split
from keybench.model.byteorder import rank
from tests.generators.scripted import ScriptedEntropy

START = 637_811_545_420_000_000
SHARDS = [0, 1, 208, 65_535, 32_465_535, 4_294_967_295]


def test_hotguid_sql_vectors(vectors, opened, texts_of) -> None:
    near = [vector for vector in vectors("hotguid") if vector["inputs"]["counter_after_increment"] < 600_000]
    assert len(near) > 10
    for vector in near:
        inputs = vector["inputs"]
        chosen = replace(layout("hotguid-sql"), shard=inputs["shard"])
        # Entropy of all ones starts the counter at 499,999.
        readings = np.full(inputs["counter_after_increment"] - 499_999, inputs["ticks"])
        stream = opened(chosen, readings, entropy=ScriptedEntropy(b"\xff" * 4))
        stream.take(len(readings) - 1)
        keys = stream.take(1)
        assert texts_of(keys) == [vector["sql_guid"]]
        decoded = chosen.decode(keys)
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
    plain = opened(replace(layout("hotguid"), shard=number), ticks).take(25)
    for_sql = opened(replace(layout("hotguid-sql"), shard=number), ticks).take(25)
    assert rank(plain, "rfc").tolist() == rank(for_sql, "mssql").tolist() == list(range(25))
    assert set(layout("hotguid-sql").decode(for_sql).fields["shard"].tolist()) == {number}


def test_a_key_of_one_form_read_as_the_other_is_another_instant(opened) -> None:
    keys = opened("hotguid-sql", [START]).take(1)
    assert layout("hotguid").decode(keys).ticks != layout("hotguid-sql").decode(keys).ticks


@given(region=st.integers(0, 1_023), key=st.integers(0, 4_194_303))
@example(region=1_023, key=4_194_303)
def test_a_shard_is_split_into_region_and_key(region, key) -> None:
    assert split(shard(region, key)) == (region, key)


def test_the_region_is_above_the_key() -> None:
    assert shard(0, 4_194_303) + 1 == shard(1, 0) == 4_194_304
    assert shard(1_023, 4_194_303) == 0xFFFF_FFFF


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: shard(1_024, 0), "region 1024 does not fit 10 bits: choose one from 0 to 1023."),
        (lambda: shard(-1, 0), "region -1 does not fit 10 bits: choose one from 0 to 1023."),
        (lambda: shard(0, 1 << 22), "shard key 4194304 does not fit 22 bits: choose one from 0 to 4194303."),
        (lambda: split(1 << 32), "shard 4294967296 does not fit 32 bits: choose one from 0 to 4294967295."),
        (
            lambda: replace(layout("hotguid-sql"), shard=-1),
            "shard -1 does not fit 32 bits: choose one from 0 to 4294967295.",
        ),
    ],
)
def test_a_number_that_does_not_fit_is_refused(call, message) -> None:
    with pytest.raises(UsageError) as refused:
        call()
    assert str(refused.value) == message
