"""Sources of base GUIDs."""

from __future__ import annotations

import numpy as np
import pytest

from keybench.generators.core.bits import stamp_version
from keybench.generators.core.entropy import AesEntropy
from keybench.generators.core.guids import ProvidedGuids, RandomGuids
from tests.generators.scripted import ScriptedGuids


def test_random_guids_are_the_entropy_with_version_and_variant() -> None:
    raw = AesEntropy.seeded(1).take(40_000, 16)
    raw[:, 6] = raw[:, 6] & 0x0F | 0x40
    raw[:, 8] = raw[:, 8] & 0x3F | 0x80
    assert np.array_equal(RandomGuids(AesEntropy.seeded(1)).take(40_000), raw)
    filled = np.full_like(raw, 0xA5)
    RandomGuids(AesEntropy.seeded(1)).fill(filled)
    assert np.array_equal(filled, raw)


def test_a_providers_guids_are_filled_in_as_they_come() -> None:
    given = np.arange(48, dtype=np.uint8).reshape(3, 16)
    guids = ProvidedGuids(ScriptedGuids(given))
    room = np.zeros((2, 16), np.uint8)
    guids.fill(room)
    assert np.array_equal(room, given[:2])


def test_drawn_guids_lack_only_the_version_returned() -> None:
    plain = RandomGuids(AesEntropy(bytes(16))).take(9)
    room = np.empty((9, 16), np.uint8)
    version = RandomGuids(AesEntropy(bytes(16))).draw(room)
    assert not np.array_equal(room, plain)
    stamp_version(room, version)
    assert np.array_equal(room, plain)
    assert ProvidedGuids(RandomGuids(AesEntropy(bytes(16)))).draw(room) is None
    assert np.array_equal(room, plain), "a provider's GUIDs are whole"


def test_a_provider_ends_with_an_error() -> None:
    guids = ProvidedGuids(ScriptedGuids(np.zeros((3, 16), np.uint8)))
    room = np.zeros((2, 16), np.uint8)
    guids.fill(room)
    with pytest.raises(LookupError, match=r"^the script holds 3 GUIDs, 4 were asked for$"):
        guids.fill(room)
