"""What a writer's clock shows."""

import numpy as np
import pytest

from keybench.generators.core.clock import TICKS_PER_SECOND as SECOND
from keybench.runners.planning.key_sources import clock_readings
from keybench.scenarios.writers import ClockPart

T = np.arange(0, 100 * SECOND, SECOND // 2)


@pytest.mark.parametrize(
    ("clock", "shown"),
    [
        (ClockPart(), T),
        (ClockPart(offset=-2.5), T - 25_000_000),
        (ClockPart(drift=100), T + T // 10_000),
        (ClockPart(tick=1.0), T // SECOND * SECOND),
        (ClockPart(step=((10, -1), (50, 3))), T - SECOND * (T >= 10 * SECOND) + 3 * SECOND * (T >= 50 * SECOND)),
        (ClockPart(offset=0.3, tick=1.0), (T + 3_000_000) // SECOND * SECOND),
    ],
)
def test_what_a_clock_shows(clock: ClockPart, shown: np.ndarray) -> None:
    assert np.array_equal(clock_readings(clock, T, 0), shown)
    late = 1000 * SECOND
    assert np.array_equal(clock_readings(clock, T, late), shown + late), "steps and drift count from the start"
