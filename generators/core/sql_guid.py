"""Layouts that come in two forms: as they are, and after `.ToSqlGuid()` for SQL Server's uniqueidentifier.

HotGuid and buvinghausen's SequentialGuid share the permutation (`bits.to_sql_guid`): the form for SQL Server ascends in
its order exactly as the plain form ascends in RFC order.
"""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass

from keybench.generators.core.bits import from_sql_guid, to_sql_guid
from keybench.generators.core.stream import GuidStream, WriterLayout
from keybench.model.keys import Bytes, Keys


@dataclass(frozen=True)
class TwoFormLayout(WriterLayout):
    """A layout whose streams may end with `.ToSqlGuid()`."""

    for_sql: bool = False

    def plain(self, keys: Keys) -> Keys:
        """The keys as they were before `.ToSqlGuid()`, which is what the original's readers expect."""
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
        """The next n keys, fresh, before `.ToSqlGuid()`."""
