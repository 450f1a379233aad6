"""Streams and keys as the tests of layouts need them."""

from __future__ import annotations

import json
import uuid
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import settings

from keybench.generators.core.clock import VirtualClock
from keybench.generators.core.entropy import AesEntropy
from keybench.generators.core.layout import Layout, Stream, layout
from keybench.generators.core.process import Process
from keybench.model.keys import Keys

settings.register_profile("generators", deadline=None)
settings.load_profile("generators")

Vector = dict[str, Any]
Vectors = Callable[[str], list[Vector]]
Opened = Callable[..., Stream]

GOLDEN = [
    vector
    for file in sorted(Path(__file__).parent.glob("golden*.json"))
    for vector in json.loads(file.read_text(encoding="utf-8"))["vectors"]
]


@pytest.fixture(scope="session")
def vectors() -> Vectors:
    """The golden vectors of one of their layouts; an error where there is none."""

    def of(name: str) -> list[Vector]:
        found = [vector for vector in GOLDEN if vector["layout"] == name]
        assert found, f"no golden vector of {name}"
        return found

    return of


@pytest.fixture(scope="session")
def opened() -> Opened:
    """A stream of a layout, by name or itself, over the given clock readings."""

    def stream(
        chosen: str | Layout,
        ticks: Sequence[int] | np.ndarray,
        *,
        start: int | None = None,
        entropy: Any = None,
        process: Process | None = None,
        guids: Any = None,
    ) -> Stream:
        known = layout(chosen) if isinstance(chosen, str) else chosen
        clock = VirtualClock(np.asarray(ticks, np.int64), start=start)
        source = AesEntropy.seeded("tests") if entropy is None else entropy
        return known.stream(process or Process("testhost", 74_565), clock, source, guids=guids)

    return stream


@pytest.fixture(scope="session")
def guids_of() -> Callable[[Sequence[str]], Keys]:
    """Keys of GUIDs given as text."""

    def keys(texts: Sequence[str]) -> Keys:
        data = b"".join(uuid.UUID(text).bytes for text in texts)
        return Keys(np.frombuffer(data, np.uint8).reshape(-1, 16).copy(), "uuid")

    return keys


@pytest.fixture(scope="session")
def texts_of() -> Callable[[Keys], list[str]]:
    """GUIDs as text."""

    def texts(keys: Keys) -> list[str]:
        return [str(uuid.UUID(bytes=row.tobytes())) for row in keys.data]

    return texts
