"""NEWSEQUENTIALID: golden vectors from given UUIDs and from time and node, and the server's sequence."""

from datetime import datetime
from uuid import UUID

import numpy as np
import pytest

from keybench.errors import UsageError
from keybench.generators.core.clock import UNIX_EPOCH, ticks_of
from keybench.generators.core.layout import layout
from keybench.generators.core.process import Process
from tests.errors import raised
from tests.generators.scripted import ScriptedEntropy, ScriptedGuids

NAME = "newsequentialid"
FIRST = UNIX_EPOCH - 122_192_928_000_000_000
LAST = FIRST + (1 << 60) - 1


def pairs(vectors) -> list[tuple[UUID, str]]:
    """UUIDs of version 1 and the keys made of them."""
    found = []
    for vector in vectors(NAME):
        if "guids" in vector:
            found += zip(map(UUID, vector["uuid_v1_rfc"]), vector["guids"], strict=True)
        else:
            found.append((UUID(vector["inputs"]["uuid_v1_rfc"]), vector["guid"]))
    return found


def test_newsequentialid_shuffles_given_uuids(vectors, opened, texts_of) -> None:
    given_uuids, expected = zip(*pairs(vectors), strict=True)
    guids = ScriptedGuids(np.frombuffer(b"".join(one.bytes for one in given_uuids), np.uint8).reshape(-1, 16))
    assert texts_of(opened(NAME, [], guids=guids).take(len(expected))) == list(expected)


def test_newsequentialid_makes_the_same_of_time_sequence_and_node(vectors, opened) -> None:
    for one, _ in pairs(vectors):
        drawn = one.clock_seq.to_bytes(2) + one.node.to_bytes(6)
        keys = opened(NAME, [FIRST + one.time], entropy=ScriptedEntropy(drawn)).take(1)
        node = one.node | 1 << 40  # the multicast bit, which no network card has
        assert keys.data.tobytes() == UUID(bytes=one.bytes[:10] + node.to_bytes(6)).bytes_le
        decoded = layout(NAME).decode(keys)
        assert decoded.ticks == FIRST + one.time
        assert (decoded.fields["node"], decoded.fields["clock_sequence"]) == (node, one.clock_seq)


def test_the_published_values_follow_one_another(vectors, opened, guids_of) -> None:
    (published,) = (vector for vector in vectors(NAME) if "guids" in vector)
    time = UUID(published["uuid_v1_rfc"][0]).time
    keys = opened(NAME, [FIRST + time, 0 + FIRST, FIRST + time]).take(3)
    assert np.array_equal(keys.data[:, :8], guids_of(published["guids"]).data[:, :8])
    read = layout(NAME).decode(keys).ticks[0]
    assert read // 10 == ticks_of(datetime.fromisoformat(published["extracted"]["iso"])) // 10


def test_clock_sequence_and_node_are_drawn_once(opened) -> None:
    entropy = ScriptedEntropy(bytes.fromhex("ffffa1b2c3d4e5f6"))
    decoded = layout(NAME).decode(opened(NAME, [UNIX_EPOCH] * 3, entropy=entropy).take(3))
    assert decoded.fields["clock_sequence"].tolist() == [0x3FFF] * 3
    assert decoded.fields["node"].tolist() == [0xA1B2C3D4E5F6] * 3
    quiet = ScriptedEntropy(bytes(8))
    node = layout(NAME).decode(opened(NAME, [UNIX_EPOCH], entropy=quiet).take(1)).fields["node"]
    assert node == 0x010000000000, "the multicast bit, which no network card has"


@pytest.mark.parametrize(("boot", "sequence"), [(0, 0x3FFE), (1, 0x3FFF), (2, 0), (3, 1)])
def test_each_start_of_a_machine_adds_one_to_its_clock_sequence(boot, sequence, opened) -> None:
    entropy = ScriptedEntropy(bytes.fromhex("3ffea1b2c3d4e5f6"))
    keys = opened(NAME, [UNIX_EPOCH], entropy=entropy, process=Process("keybench", 4242, boot=boot)).take(1)
    decoded = layout(NAME).decode(keys)
    assert decoded.fields["clock_sequence"] == sequence
    assert decoded.fields["node"] == 0xA1B2C3D4E5F6


@pytest.mark.parametrize("readings", [[FIRST - 1], [LAST + 1], [LAST, LAST]])
def test_a_time_beyond_60_bits_is_refused(readings, opened) -> None:
    said = raised(UsageError, opened(NAME, readings).take, len(readings))
    within = "hold instants from 1582-10-15T00:00:00.0000000Z to" if len(readings) == 1 else "end with"
    assert said.startswith(f"newsequentialid keys {within} 5236-03-31T21:21:00.6846975Z, and ")
