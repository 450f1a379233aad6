"""A fixture that opens streams, for the tests of layouts."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from keybench.generators.core.clock import VirtualClock
from keybench.generators.core.entropy import AesEntropy
from keybench.generators.core.layout import Layout, Stream, layout
from keybench.generators.core.process import Process

Opened = Callable[..., Stream]


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
        shard: int = 0,
    ) -> Stream:
        known = layout(chosen) if isinstance(chosen, str) else chosen
        clock = VirtualClock(np.asarray(ticks, np.int64), start=start)
        source = AesEntropy.seeded("tests") if entropy is None else entropy
        maker = replace(process or Process("testhost", 74_565), shard=shard)
        return known.stream(maker, clock, source, guids=guids)

    return stream
