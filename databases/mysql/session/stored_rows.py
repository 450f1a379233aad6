"""Reads back the rows of trials, by statements that all servers with MySQL's protocol take."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from keybench.databases.contract.roles import Address
from keybench.databases.mysql import ddl
from keybench.databases.mysql.connection import Queries
from keybench.databases.mysql.session.statements import is_uuid
from keybench.model.column import Column, EncodedKeys
from keybench.model.keys import Keys
from keybench.model.table import Table

_SLICE_ROWS = 50_000


class StoredRows(Queries):
    """One administrative connection, in autocommit."""

    joins_bytes = True
    """Whether bytes can be joined to one value as they are; else they are read in hexadecimal."""

    def __init__(self, address: Address) -> None:
        super().__init__(address)
        self.rows(f"SET SESSION group_concat_max_len = {_SLICE_ROWS * 1024}")

    def drop(self, table: Table) -> None:
        """Drops the table and its parent if they are there."""
        for each in table.family:
            self.rows(f"DROP TABLE IF EXISTS {ddl.name(each)}")

    def stored_keys(self, table: Table) -> Iterator[EncodedKeys]:
        """The keys in order of a unique index, a range at a time, each range joined to one value by the server.

        A row for each key would cost the client a call a row.
        """
        after, place = "", "row_id" if table.key == "fk" else "`key`"
        chosen = "`key`" if place == "`key`" else f"`key`, {place}"
        while True:
            ((count, joined, greatest),) = self.rows(
                f"SELECT count(*), group_concat({self._form(table.column)} SEPARATOR ''), max({place}) FROM "  # noqa: S608  # our own names
                f"(SELECT {chosen} FROM {ddl.name(table)} {after} ORDER BY {place} LIMIT {_SLICE_ROWS}) part"
            )
            if not count:
                return
            yield self._keys(table.column, joined, count)
            after = f"WHERE {place} > " + self.connection.escape(greatest)  # bytes, text or a number

    def ordered_keys(self, table: Table) -> EncodedKeys:
        """All keys, sorted by the server."""
        return self._sorted_by(table, "`key`")

    def arrived_keys(self, table: Table) -> EncodedKeys | None:
        """All keys by the primary key of a table that is not the key's b-tree; None where it is."""
        return None if table.key == "clustered" else self.keys_by_row(table)

    def keys_by_row(self, table: Table) -> EncodedKeys:
        """All keys in order of the primary key."""
        if table.key == "clustered":
            return np.concatenate(list(self.stored_keys(table)))
        return self._sorted_by(table, ddl.row_order(table))

    def _sorted_by(self, table: Table, order: str) -> EncodedKeys:
        rows = self.rows(f"SELECT {self._form(table.column)} FROM {ddl.name(table)} ORDER BY {order}")  # noqa: S608
        values = [key if isinstance(key, bytes) else key.encode("ascii") for (key,) in rows]
        return self._keys(table.column, b"".join(values), len(values))

    def _form(self, column: Column) -> str:
        """An expression for the key whose values have one width, so that they can be joined."""
        if column.form == "int":
            return "LPAD(HEX(`key`), 16, '0')"
        if is_uuid(column):
            return "UNHEX(REPLACE(`key`, '-', ''))"
        return "`key`" if self.joins_bytes or column.form == "text" else "HEX(`key`)"

    def _keys(self, column: Column, joined: str | bytes, count: int) -> EncodedKeys:
        """`count` joined values of `_form`, as `Column.encode` gives them."""
        text = joined.encode("ascii") if isinstance(joined, str) else joined
        if column.form == "int":
            return np.frombuffer(bytes.fromhex(text.decode("ascii")), ">i8").astype(np.int64)
        if column.form == "bytes" and not self.joins_bytes:
            text = bytes.fromhex(text.decode("ascii"))
        data = np.frombuffer(text, np.uint8).reshape(count, -1)
        return column.encode(Keys(data, "uuid")) if is_uuid(column) else data
