"""The rules by which compiled code makes one COMB (`OneCall.rule`): a random GUID, and the time as doubles give it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

import numpy as np

from keybench.generators.core.clock import TICKS_PER_DAY, TICKS_PER_MS, UNIX_EPOCH
from keybench.generators.core.instants import EPOCH_1900
from keybench.generators.core.layout import Halves
from keybench.generators.rt_comb.dates import DateStrategy, SqlDates, UnixDates
from keybench.generators.rt_comb.providers import PostgreSqlProvider, Provider, SqlProvider
from keybench.model.keys import Ints

_KEEP: Final = np.uint64((1 << 64) - 1 ^ 0xF << 12)
_KEEP_LAST: Final = np.uint64((1 << 62) - 1)
_VERSION: Final = np.uint64(4 << 12)
_VARIANT: Final = np.uint64(1 << 63)
_U48: Final = np.uint64((1 << 48) - 1)
_UNITS_PER_MS: Final = 0.3


def _sql(_state: Ints, tick: int, first: np.uint64, last: np.uint64) -> Halves:
    date = np.uint64(np.int64((tick - UNIX_EPOCH) / TICKS_PER_MS)) & _U48
    return first & _KEEP | _VERSION, (last & _KEEP_LAST | _VARIANT) >> np.uint64(48) << np.uint64(48) | date


def _postgresql(_state: Ints, tick: int, first: np.uint64, last: np.uint64) -> Halves:
    date = np.uint64(np.int64((tick - UNIX_EPOCH) / TICKS_PER_MS)) & _U48
    return date << np.uint64(16) | first & np.uint64(0xFFF) | _VERSION, last & _KEEP_LAST | _VARIANT


def _legacy(_state: Ints, tick: int, first: np.uint64, last: np.uint64) -> Halves:
    days = np.uint64(np.int64((tick - EPOCH_1900) / TICKS_PER_DAY)) & np.uint64(0xFFFF)
    units = np.uint64(np.int64(tick % TICKS_PER_DAY / TICKS_PER_MS * _UNITS_PER_MS))
    end = (last & _KEEP_LAST | _VARIANT) >> np.uint64(48) << np.uint64(48)
    return first & _KEEP | _VERSION, end | days << np.uint64(32) | units


RULES: Final[Mapping[tuple[type[Provider], type[DateStrategy]], Callable[[Any, Any, Any, Any], Halves]]] = {
    (SqlProvider, UnixDates): _sql,
    (PostgreSqlProvider, UnixDates): _postgresql,
    (SqlProvider, SqlDates): _legacy,
}
