"""The instants that a layout can hold, and the errors for those, and for keys, that it cannot."""

from __future__ import annotations

import uuid
from typing import Final

import numpy as np
from numpy.typing import NDArray

from keybench.errors import UsageError
from keybench.generators.core.clock import TICKS_PER_MS, TICKS_PER_SECOND, UNIX_EPOCH, Ticks
from keybench.generators.core.loops.choice import loops
from keybench.model.keys import Keys

DATETIME_LAST: Final = 3_155_378_975_999_999_999
"""The last tick of .NET's DateTime, 9999-12-31T23:59:59.9999999Z; its first is 0."""


def text_of(ticks: int) -> str:
    """The instant as ISO 8601 with seven decimals, in any year."""
    microseconds, odd = divmod(int(ticks) - UNIX_EPOCH, 10)
    return f"{np.datetime64(microseconds, 'us')}{odd}Z"


def require_instants(layout: str, ticks: Ticks, first: int = 0, last: int = DATETIME_LAST) -> Ticks:
    """The ticks themselves; UsageError, naming the range and the reading, where one lies outside first … last."""
    if not len(ticks):
        return ticks
    # Those below 0 lie above all others as unsigned numbers: one look at the greatest tells both.
    if ticks.view(np.uint64).max() > last if first == 0 else ticks.min() < first or ticks.max() > last:
        outside = ticks[(ticks < first) | (ticks > last)][0]
        raise UsageError(
            f"{layout} keys hold instants from {text_of(first)} to {text_of(last)}, and the clock shows "
            f"{text_of(outside)}: set the clock inside that range."
        )
    return ticks


def refuse_keys(layout: str, keys: Keys, refused: NDArray[np.bool_], reason: str) -> None:
    """UsageError for the first GUID that `refused` marks, with the reason."""
    if refused.any():
        place = int(refused.argmax())
        guid = uuid.UUID(bytes=keys.data[place].tobytes())
        raise UsageError(f"{guid} is no {layout} key: {reason}. Decode it as the layout that made it.")


def unix_milliseconds(layout: str, ticks: Ticks, last: int = DATETIME_LAST) -> NDArray[np.uint64]:
    """Whole milliseconds since 1970; UsageError, as `require_instants`, for ticks before 1970 or above `last`."""
    since = ticks - UNIX_EPOCH
    if len(ticks) and since.view(np.uint64).max() > last - UNIX_EPOCH:
        require_instants(layout, ticks, UNIX_EPOCH, last)
    return milliseconds(since)


def milliseconds(ticks: Ticks) -> NDArray[np.uint64]:
    """Whole milliseconds in ticks that are not negative."""
    if compiled := loops(len(ticks)):
        quotients: NDArray[np.uint64] = compiled.quotients(ticks, TICKS_PER_MS)
        return quotients
    # Unsigned numbers are divided at half the cost.
    return ticks.view(np.uint64) // np.uint64(TICKS_PER_MS)


def since_midnight(ticks: Ticks) -> Ticks:
    """Ticks since the day began, of ticks that are not negative."""
    day_length = 86_400 * TICKS_PER_SECOND
    if compiled := loops(len(ticks)):
        remainders: Ticks = compiled.remainders(ticks, day_length)
        return remainders
    # numpy's remainder costs twice a division.
    numbers, day = ticks.view(np.uint64), np.uint64(day_length)
    return (numbers - numbers // day * day).view(np.int64)
