"""RT.Comb's providers: which six bytes of a GUID hold the date."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass

from keybench.generators.core.bits import Words, get_u48, put_u48, put_u48_net
from keybench.model.keys import Bytes, Keys


class Provider(ABC):
    """Which six bytes of a GUID hold the date."""

    @abstractmethod
    def put(self, guids: Bytes, dates: Words, version: int | None = None) -> None:
        """Overwrites six bytes of each GUID, in place, and sets the version where one is given."""

    @abstractmethod
    def get(self, keys: Keys) -> Words:
        """The six bytes of each key, as numbers."""


@dataclass(frozen=True)
class SqlProvider(Provider):
    """Into the bytes that SQL Server compares first."""

    def put(self, guids: Bytes, dates: Words, version: int | None = None) -> None:
        """Overwrites r10 … r15."""
        put_u48(guids, 10, dates, version)

    def get(self, keys: Keys) -> Words:
        """r10 … r15."""
        return get_u48(keys, 10)


@dataclass(frozen=True)
class PostgreSqlProvider(Provider):
    """Into the first bytes of the text."""

    def put(self, guids: Bytes, dates: Words, version: int | None = None) -> None:
        """Overwrites r0 … r5."""
        put_u48(guids, 0, dates, version)

    def get(self, keys: Keys) -> Words:
        """r0 … r5."""
        return get_u48(keys, 0)


@dataclass(frozen=True)
class BinaryProvider(Provider):
    """Into the first bytes of `Guid.ToByteArray`, for Oracle's RAW and SQLite's BLOB as .NET binds them."""

    def put(self, guids: Bytes, dates: Words, version: int | None = None) -> None:
        """Overwrites n0 … n5."""
        put_u48_net(guids, dates, version)

    def get(self, keys: Keys) -> Words:
        """n0 … n5."""
        return get_u48(keys, 0, "net")
