"""Layouts with two forms: as they are, and after `.ToSqlGuid()` for SQL Server's uniqueidentifier.

HotGuid and buvinghausen's SequentialGuid have the same permutation. The form for SQL Server ascends in SQL Server's
order exactly as the plain form ascends in RFC order.
"""

from __future__ import annotations

import sys
from abc import abstractmethod
from dataclasses import dataclass
from typing import Final

import numpy as np

from keybench.generators.core.bits import words
from keybench.generators.core.loops.loading import kernels_for
from keybench.generators.core.stream import GuidStream, WriterLayout
from keybench.model.keys import Bytes, Keys

_TURN: Final = np.uint64(16 if sys.byteorder == "little" else 48)
_BACK: Final = np.uint64(64) - _TURN


@dataclass(frozen=True)
class TwoFormLayout(WriterLayout):
    """A layout whose streams can end with `.ToSqlGuid()`."""

    for_sql: bool = False

    def plain(self, keys: Keys) -> Keys:
        """The keys before `.ToSqlGuid()`, as the original's readers expect them."""
        if not self.for_sql or keys.kind != "uuid":
            return keys
        data = keys.data.copy()
        from_sql_guid(data)  # type: ignore[arg-type]
        return Keys(data, "uuid")


class TwoFormStream(GuidStream):
    """A stream of either form."""

    def __init__(self, layout: TwoFormLayout) -> None:
        self._for_sql = layout.for_sql

    def fill(self, data: Bytes) -> None:
        """The next n keys, in the layout's form."""
        self.fill_plain(data)
        if self._for_sql:
            to_sql_guid(data)

    @abstractmethod
    def fill_plain(self, data: Bytes) -> None:
        """Puts the next n keys, before `.ToSqlGuid()`, into `data`."""


def to_sql_guid(data: Bytes) -> None:
    """`.ToSqlGuid()`, in place: r8 … r15 become r6 r7 r0 … r5, and r0 … r7 become r15 … r8."""
    if kernels := kernels_for(len(data)):
        kernels.to_sql_guid(data.reshape(-1).view(np.uint64))
        return
    high, low = words(data).T
    turned = high << _TURN | high >> _BACK
    low.byteswap(inplace=True)
    high[:] = low
    low[:] = turned


def from_sql_guid(data: Bytes) -> None:
    """The inverse of `to_sql_guid`, in place."""
    high, low = words(data).T
    turned = low << _BACK | low >> _TURN
    high.byteswap(inplace=True)
    low[:] = high
    high[:] = turned
