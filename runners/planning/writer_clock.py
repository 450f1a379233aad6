"""What a writer's clock shows: its offset, drift, tick and steps, forward or back."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from keybench.generators.core.clock import TICKS_PER_SECOND
from keybench.scenarios.writers import ClockPart

Ticks = NDArray[np.int64]


def clock_readings(clock: ClockPart, ticks: Ticks, start: int) -> Ticks:
    """The ticks that a clock shows at the true times `ticks`, which count from the tick `start`; so does drift."""
    shown = ticks + (start + round(clock.offset * TICKS_PER_SECOND))
    if clock.drift:
        shown += np.rint(ticks * (clock.drift * 1e-6)).astype(np.int64)
    for at, by in clock.step:
        shown += (ticks >= round(at * TICKS_PER_SECOND)) * np.int64(round(by * TICKS_PER_SECOND))
    resolution = round(clock.tick * TICKS_PER_SECOND)
    return shown if resolution == 1 else shown - shown % resolution
