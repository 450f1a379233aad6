"""RT.Comb's providers: which bytes of a GUID hold the date, six or four of them.

Four bytes are for date strategies of your own: both of RT.Comb's write six.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass

import numpy as np

from keybench.generators.core.bits import Words, get_u48, guid_bytes, put_u48, put_u48_net, stamp_version
from keybench.model.keys import Bytes, Keys


class Provider(ABC):
    """Which bytes of a GUID hold the date."""

    def put(self, guids: Bytes, dates: Words, version: int | None = None, width: int = 6) -> None:
        """Overwrites `width` bytes of each GUID, in place, and sets the version where one is given."""
        if width == 6:
            self.put_six(guids, dates, version)
            return
        if version is not None:
            stamp_version(guids, version)
        self.put_four(guids, dates.astype(">u4").view(np.uint8).reshape(-1, 4))

    def get(self, keys: Keys, width: int = 6) -> Words:
        """The `width` bytes of each key, as numbers."""
        if width == 6:
            return self.get_six(keys)
        return np.ascontiguousarray(self.get_four(guid_bytes(keys))).view(">u4").ravel().astype(np.uint64)

    @abstractmethod
    def put_six(self, guids: Bytes, dates: Words, version: int | None) -> None:
        """Overwrites six bytes of each GUID, in place, and sets the version where one is given."""

    @abstractmethod
    def get_six(self, keys: Keys) -> Words:
        """The six bytes of each key, as numbers."""

    @abstractmethod
    def put_four(self, guids: Bytes, dates: Bytes) -> None:
        """Overwrites four bytes of each GUID, in place. `dates`: uint8 (n, 4), most significant byte first."""

    @abstractmethod
    def get_four(self, guids: Bytes) -> Bytes:
        """The four bytes of each GUID, most significant first: uint8 (n, 4)."""


@dataclass(frozen=True)
class SqlProvider(Provider):
    """Into the bytes that SQL Server compares first: r10 … r15, or r10 … r13."""

    def put_six(self, guids: Bytes, dates: Words, version: int | None) -> None:
        """Overwrites r10 … r15."""
        put_u48(guids, 10, dates, version)

    def get_six(self, keys: Keys) -> Words:
        """r10 … r15."""
        return get_u48(keys, 10)

    def put_four(self, guids: Bytes, dates: Bytes) -> None:
        """Overwrites r10 … r13."""
        guids[:, 10:14] = dates

    def get_four(self, guids: Bytes) -> Bytes:
        """r10 … r13."""
        return guids[:, 10:14]


@dataclass(frozen=True)
class PostgreSqlProvider(Provider):
    """Into the first bytes of the text: r0 … r5, or r0 … r3.

    `PostgreSqlCombProvider.SwapByteOrderForStringOrder` means to swap Data2 for six bytes only, but compares the length
    of the whole GUID, so that it does so for four bytes too: r4 and r5 of the base GUID change places.
    """

    def put_six(self, guids: Bytes, dates: Words, version: int | None) -> None:
        """Overwrites r0 … r5."""
        put_u48(guids, 0, dates, version)

    def get_six(self, keys: Keys) -> Words:
        """r0 … r5."""
        return get_u48(keys, 0)

    def put_four(self, guids: Bytes, dates: Bytes) -> None:
        """Overwrites r0 … r3, and swaps r4 and r5."""
        guids[:, :4] = dates
        guids[:, 4:6] = guids[:, 5:3:-1].copy()

    def get_four(self, guids: Bytes) -> Bytes:
        """r0 … r3."""
        return guids[:, :4]


@dataclass(frozen=True)
class BinaryProvider(Provider):
    """Into the first bytes of `Guid.ToByteArray`, for Oracle's RAW and SQLite's BLOB as .NET binds them: n0 … n5, or
    n0 … n3."""

    def put_six(self, guids: Bytes, dates: Words, version: int | None) -> None:
        """Overwrites n0 … n5."""
        put_u48_net(guids, dates, version)

    def get_six(self, keys: Keys) -> Words:
        """n0 … n5."""
        return get_u48(keys, 0, "net")

    def put_four(self, guids: Bytes, dates: Bytes) -> None:
        """Overwrites n0 … n3, which are r3 … r0."""
        guids[:, :4] = dates[:, ::-1]

    def get_four(self, guids: Bytes) -> Bytes:
        """n0 … n3."""
        return guids[:, 3::-1]
