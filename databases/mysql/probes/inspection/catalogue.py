"""What the information schema says of tables and indexes. It shows each user what that user may see."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from keybench.databases.contract.existing import Form, IndexHere, Role, TableHere
from keybench.databases.mysql.connection import Queries
from keybench.model.keys import Order

_SYSTEM: Final = ("mysql", "information_schema", "performance_schema", "sys")
_FORMS: Final[dict[str, Form]] = {
    "uuid": "uuid", "binary": "bytes", "varbinary": "bytes", "char": "text", "varchar": "text",
    "tinyint": "int", "smallint": "int", "mediumint": "int", "int": "int", "bigint": "int",
}  # fmt: skip
_WIDTHS: Final = {
    "tinyint": 1, "smallint": 2, "mediumint": 3, "int": 4, "bigint": 8, "float": 4, "double": 8, "date": 3, "year": 1,
    "time": 3, "datetime": 5, "timestamp": 4, "uuid": 16, "inet6": 16, "inet4": 4, "enum": 1, "bit": 8,
}  # fmt: skip
_DIGITS: Final = (0, 1, 1, 2, 2, 3, 3, 4, 4, 4)
"""Bytes of up to nine decimal digits (strings/decimal.c, dig2bytes)."""
_SHORT: Final = 255


@dataclass(frozen=True)
class ColumnFacts:
    """A column, and how many bytes its values take in a record."""

    name: str
    kind: str
    sql_type: str
    nullable: bool
    numbered: bool
    """AUTO_INCREMENT."""
    width: int | None
    """None where it varies."""
    long: bool = False
    """Whether values of 128 bytes and more have two bytes of length in front of them: those of columns that may hold
    more than 255 bytes (rem0rec.cc, rec_get_converted_size_comp_prefix_low)."""

    @property
    def bytes_sql(self) -> str:
        """An SQL expression for the bytes of a value."""
        name = quoted(self.name)
        if self.width is None:
            length_bytes = f"if(length({name}) < 128, 1, 2)" if self.long else "1"
            return f"coalesce(length({name}) + {length_bytes}, 0)"
        return f"if({name} IS NULL, 0, {self.width})" if self.nullable else str(self.width)


@dataclass(frozen=True)
class Facts:
    """Where a table is; `partition` is empty for those that are not divided."""

    schema: str
    table: str
    partition: str
    engine: str
    data_bytes: int

    @property
    def from_sql(self) -> str:
        """For the FROM of a query."""
        name = f"{quoted(self.schema)}.{quoted(self.table)}"
        return f"{name} PARTITION ({quoted(self.partition)})" if self.partition else name


def quoted(name: str) -> str:
    """An identifier in backquotes."""
    return "`" + name.replace("`", "``").replace("%", "%%") + "`"


def tables(server: Queries, database: str) -> tuple[list[TableHere], dict[str, Facts]]:
    """All tables of one database, or of all, the largest first, with their partitions."""
    condition = "table_schema = %s" if database else f"table_schema NOT IN {_SYSTEM}"
    values = [database] if database else []
    listed, facts = [], {}
    parts: dict[tuple[str, str], list[tuple[str, float, int, int]]] = {}
    for schema, name, part, rows, data, index in server.rows(
        "SELECT table_schema, table_name, partition_name, table_rows, data_length, index_length "  # noqa: S608 (constants)
        f"FROM information_schema.partitions WHERE {condition} AND partition_name IS NOT NULL "
        "ORDER BY partition_ordinal_position",
        values,
    ):
        parts.setdefault((schema, name), []).append((str(part), float(rows or 0), int(data or 0), int(index or 0)))
    for schema, name, kind, engine, rows, data, index in server.rows(
        "SELECT table_schema, table_name, table_type, engine, table_rows, data_length, index_length "  # noqa: S608
        f"FROM information_schema.tables WHERE {condition} ORDER BY data_length + index_length DESC, 1, 2",
        values,
    ):
        divided = parts.get((schema, name), [])
        refused = (
            "" if engine == "InnoDB" else f"its storage engine is {engine}, and keybench knows InnoDB's tables alone."
        )
        if "VIEW" in kind:
            refused = "a view has no keys of its own: name its tables."
        table = TableHere(
            str(schema), str(name), "view" if "VIEW" in kind else "partitioned table" if divided else "table",
            rows=None if rows is None else float(rows), bytes=int(data or 0) + int(index or 0), refused=refused,
        )  # fmt: skip
        listed.append(table)
        facts[table.full_name] = Facts(str(schema), str(name), "", str(engine), int(data or 0))
        for part, part_rows, part_data, part_index in divided:
            partition_here = TableHere(
                str(schema), f"{name} PARTITION ({part})", "table", table.full_name, rows=part_rows,
                bytes=part_data + part_index, refused=refused,
            )  # fmt: skip
            listed.append(partition_here)
            facts[partition_here.full_name] = Facts(str(schema), str(name), part, str(engine), part_data)
    return listed, facts


def columns(server: Queries, at: Facts) -> dict[str, ColumnFacts]:
    """The columns of a table by name, in its order."""
    by_name = {}
    for name, kind, sql_type, nullable, extra, most, charset, precision, scale, fraction in server.rows(
        "SELECT c.column_name, c.data_type, c.column_type, c.is_nullable, c.extra, c.character_octet_length, "
        "c.character_set_name, c.numeric_precision, c.numeric_scale, c.datetime_precision "
        "FROM information_schema.columns c WHERE c.table_schema = %s AND c.table_name = %s ORDER BY c.ordinal_position",
        [at.schema, at.table],
    ):
        if "VIRTUAL GENERATED" in str(extra).upper():
            continue
        width = _width(str(kind), most, charset, precision, scale, int(fraction or 0))
        long = width is None and int(most or 0) > _SHORT
        by_name[str(name)] = ColumnFacts(
            str(name), str(kind), str(sql_type), nullable == "YES", "auto_increment" in str(extra), width, long
        )
    return by_name


def _width(
    kind: str, most: int | None, charset: str | None, precision: int | None, scale: int | None, fraction: int
) -> int | None:
    """Bytes of a value; None if they vary."""
    if kind == "decimal":
        whole, part = int(precision or 10) - int(scale or 0), int(scale or 0)
        return whole // 9 * 4 + _DIGITS[whole % 9] + part // 9 * 4 + _DIGITS[part % 9]
    if kind in _WIDTHS:
        return _WIDTHS[kind] + (fraction + 1) // 2
    if kind == "binary" or (kind == "char" and charset in {"ascii", "latin1"}):
        return int(most or 0)
    return None


def indexes(server: Queries, at: Facts, known: dict[str, ColumnFacts]) -> list[IndexHere]:
    """Primary key, unique indexes and foreign keys; a foreign key has an index in InnoDB."""
    foreign: dict[str, list[str]] = {}
    for constraint, column in server.rows(
        "SELECT constraint_name, column_name FROM information_schema.key_column_usage WHERE table_schema = %s "
        "AND table_name = %s AND referenced_table_name IS NOT NULL ORDER BY constraint_name, ordinal_position",
        [at.schema, at.table],
    ):
        foreign.setdefault(str(constraint), []).append(str(column))
    listed: dict[str, tuple[bool, list[str], str]] = {}
    for name, repeats, column, method in server.rows(
        "SELECT index_name, non_unique, column_name, index_type FROM information_schema.statistics "
        "WHERE table_schema = %s AND table_name = %s "
        "ORDER BY index_name = 'PRIMARY' DESC, non_unique, index_name, seq_in_index",
        [at.schema, at.table],
    ):
        listed.setdefault(str(name), (not int(repeats), [], str(method)))[1].append(str(column))
    result = []
    for name, (unique, columns, method) in listed.items():
        roles: list[Role] = ["primary key" if name == "PRIMARY" else "unique"] if unique else []
        if any(columns[: len(key)] == key for key in foreign.values()):
            roles.append("foreign key")
        column = known.get(columns[0])
        if not roles or method != "BTREE" or column is None:
            continue
        order: Order = "mariadb" if column.kind == "uuid" else "rfc"
        result.append(
            IndexHere(
                name, tuple(columns), tuple(roles), column.sql_type, _FORMS.get(column.kind), order, name == "PRIMARY"
            )
        )
    return result
