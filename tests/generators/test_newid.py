"""NewId: golden vectors, its rule key by key, and the orders in which its forms ascend."""

import hashlib
from dataclasses import replace
from itertools import pairwise
from uuid import UUID

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from keybench.generators.core.layout import layout
from keybench.generators.core.process import Process
from keybench.generators.newid import PER_TICK
from keybench.model.byteorder import sort_words

FORMS = {
    "newid_guid": "masstransit-newid",
    "newid_seq": "masstransit-newid-sequential",
    "newid_toseq": "masstransit-newid-to-sequential",
}
NAMES = [name + suffix for name in FORMS.values() for suffix in ("", "-process")]
TICK = 638_465_915_513_040_000


def of_vector(vector):
    """The layout of a vector: its worker, and its process id where it has one."""
    inputs = vector["inputs"]
    name = FORMS[vector["layout"]] + ("-process" if inputs["process_id"] else "")
    return replace(layout(name), worker=bytes.fromhex(inputs["worker_id"]))


@pytest.mark.parametrize("form", FORMS)
def test_newid_vectors(form, vectors, opened) -> None:
    for vector in vectors(form):
        inputs, chosen = vector["inputs"], of_vector(vector)
        stream = opened(chosen, np.full(inputs["index"] + 1, inputs["ticks"]), process=Process("testhost", 0x2345))
        stream.take(inputs["index"])
        keys = stream.take(1)
        assert str(UUID(bytes=keys.data[0].tobytes())) == vector["guid"]
        decoded = chosen.decode(keys)
        assert decoded.ticks == vector["extracted"]["ticks"]
        assert decoded.fields["sequence"] == inputs["index"] % PER_TICK
        fields = {name: int(values[0]) for name, values in decoded.fields.items() if name != "sequence"}
        assert fields == ({"worker": 0x7D81BF34, "pid": 0x2345} if inputs["process_id"] else {"worker": 0x7D81BF34437F})


def published_sequence(readings: list[int], per_tick: int) -> list[tuple[int, int]]:
    """NewId's rule, key by key."""
    last, following, made = 0, 0, []
    for now in readings:
        if now > last:
            last, following = now, 0
        elif following == per_tick:
            last, following = last + 1, 0
        made.append((last, following))
        following += 1
    return made


@pytest.mark.long
@given(jumps=st.lists(st.tuples(st.integers(0, 40_000), st.integers(-2, 3)), min_size=1, max_size=8))
def test_newid_counts_as_published(jumps, opened) -> None:
    """Runs of equal readings, some longer than the keys of a tick, some stepping back."""
    readings = np.repeat(TICK + np.cumsum([by for _, by in jumps]), [keys for keys, _ in jumps])
    decoded = layout("masstransit-newid").decode(opened("masstransit-newid", readings).take(len(readings)))
    made = list(zip(decoded.ticks.tolist(), decoded.fields["sequence"].tolist(), strict=True))
    assert made == published_sequence(readings.tolist(), PER_TICK)


def test_next_sequential_guid_breaks_every_256_keys_of_a_tick(opened) -> None:
    words = sort_words(opened("masstransit-newid-sequential", np.full(1_024, TICK)).take(1_024), "rfc").tolist()
    breaks = [place for place, (before, after) in enumerate(pairwise(words), 1) if after <= before]
    assert breaks, "its bytes are exchanged"
    right = sort_words(opened("masstransit-newid-to-sequential", np.full(1_024, TICK)).take(1_024), "rfc").tolist()
    assert all(before < after for before, after in pairwise(right))
    assert breaks == [256, 512, 768]


@pytest.mark.parametrize("name", NAMES)
def test_the_worker_is_the_hash_of_the_machine_where_none_is_given(name, opened) -> None:
    keys = opened(name, [TICK], process=Process("testhost", 0x12345)).take(1)
    digest = hashlib.sha1(b"testhost").digest()[12:18]
    worker = bytes([digest[0] | 0x80]) + digest[1:]
    fields = layout(name).decode(keys).fields
    if name.endswith("-process"):
        assert fields["worker"] == int.from_bytes(worker[:4])
        assert fields["pid"] == 0x2345
    else:
        assert fields["worker"] == int.from_bytes(worker)
        assert "pid" not in fields


def test_comparison_of_the_originals_tests(guids_of) -> None:
    lower, greater = "fc070000-9565-3668-e000-08d5893343c6", "fc070000-9565-3668-9180-08d589338b38"
    ticks = layout("masstransit-newid").decode(guids_of([lower, greater])).ticks
    assert ticks[0] < ticks[1]
    assert ticks.tolist() == [0x08D5893343C6E000, 0x08D589338B389180]
