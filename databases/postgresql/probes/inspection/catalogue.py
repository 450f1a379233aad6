"""What PostgreSQL's catalogue says of tables and indexes; every role may read it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from keybench.databases.contract.existing import Form, IndexHere, Role, TableHere
from keybench.databases.postgresql.connection import Queries

_KINDS: Final = {"r": "table", "v": "view", "m": "view", "p": "partitioned table", "f": "other"}
_FORMS: Final[dict[str, Form]] = {
    "uuid": "uuid", "bytea": "bytes", "text": "text", "varchar": "text", "bpchar": "text",
    "int8": "int", "int4": "int", "int2": "int",
}  # fmt: skip

_TABLES: Final = """
SELECT n.nspname, c.relname, c.relkind::text, c.oid::bigint, coalesce(pn.nspname || '.' || p.relname, ''),
       CASE WHEN c.relkind IN ('r', 'm') THEN pg_total_relation_size(c.oid) END,
       has_table_privilege(c.oid, 'SELECT') OR has_any_column_privilege(c.oid, 'SELECT'),
       has_schema_privilege(n.oid, 'USAGE'), row_security_active(c.oid), c.reltuples::float8, c.relpages,
       pg_relation_size(CASE WHEN c.relkind IN ('r', 'm') THEN c.oid END) / current_setting('block_size')::bigint,
       s.n_tup_ins
FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
LEFT JOIN pg_inherits i ON i.inhrelid = c.oid AND c.relispartition
LEFT JOIN pg_class p ON p.oid = i.inhparent LEFT JOIN pg_namespace pn ON pn.oid = p.relnamespace
LEFT JOIN pg_stat_user_tables s ON s.relid = c.oid
WHERE c.relkind IN ('r', 'v', 'm', 'p', 'f') AND n.nspname NOT IN ('pg_catalog', 'information_schema')
  AND n.nspname !~ '^pg_(toast|temp)'
ORDER BY 6 DESC NULLS LAST, 1, 2
"""

_INDEXES: Final = """
SELECT c.relname, i.indexrelid::bigint, i.indisprimary, i.indisunique, i.indpred IS NOT NULL,
       i.indkey::int2[], i.indnkeyatts, am.amname, c.reloptions,
       (SELECT array_agg(a.attname ORDER BY k.place) FROM unnest(i.indkey::int2[]) WITH ORDINALITY k (number, place)
        JOIN pg_attribute a ON a.attrelid = i.indrelid AND a.attnum = k.number WHERE k.place <= i.indnkeyatts)
FROM pg_index i JOIN pg_class c ON c.oid = i.indexrelid JOIN pg_am am ON am.oid = c.relam
WHERE i.indrelid = %s AND i.indisvalid ORDER BY i.indisprimary DESC, i.indisunique DESC, c.relname
"""

_FOREIGN: Final = """
SELECT (SELECT array_agg(a.attname ORDER BY k.place) FROM unnest(c.conkey) WITH ORDINALITY k (number, place)
        JOIN pg_attribute a ON a.attrelid = c.conrelid AND a.attnum = k.number)
FROM pg_constraint c WHERE c.conrelid = %s AND c.contype = 'f'
"""

_COLUMNS: Final = """
SELECT a.attname, b.typname, a.attlen, format_type(a.atttypid, a.atttypmod),
       has_column_privilege(a.attrelid, a.attnum, 'SELECT')
FROM pg_attribute a JOIN pg_type t ON t.oid = a.atttypid JOIN pg_type b
  ON b.oid = CASE WHEN t.typtype = 'd' THEN t.typbasetype ELSE t.oid END
WHERE a.attrelid = %s AND a.attnum > 0 AND NOT a.attisdropped
"""


@dataclass(frozen=True)
class Facts:
    """What the catalogue knows of a table beside what `TableHere` has."""

    oid: int
    blocks: int
    tuples: float
    """By the last ANALYZE or VACUUM; negative if there was none."""
    then_blocks: int
    """When it was."""


@dataclass(frozen=True)
class IndexFacts:
    """What the catalogue knows of an index beside what `IndexHere` has."""

    oid: int
    fill: int
    width: int | None
    """Bytes of its columns; None if their width varies."""
    columns: int


def tables(server: Queries, since: str) -> tuple[list[TableHere], dict[str, Facts]]:
    """All tables of the database, the largest first, and the facts by full name."""
    found, facts = [], {}
    for schema, name, kind, oid, part_of, size, may, usage, policy, tuples, pages, blocks, inserted in server.rows(
        _TABLES
    ):
        refused = ""
        if kind in {"v", "m"}:
            refused = "a view has no keys of its own: name its tables."
        elif kind == "f":
            refused = "a foreign table stores its rows on another server."
        elif not may or not usage:
            refused = f"this user may not read it: GRANT SELECT ON {schema}.{name}, and USAGE on its schema."
        table = TableHere(
            schema, name, _KINDS[kind], part_of, bytes=None if size is None else int(size),  # type: ignore[arg-type]
            inserted=None if inserted is None else int(inserted), since=since, refused=refused,
            rows_from="row security hides rows from this user" if policy else "",
        )  # fmt: skip
        found.append(table)
        facts[table.full_name] = Facts(int(oid), int(blocks or 0), float(tuples), int(pages or 0))
    return found, facts


def indexes(server: Queries, oid: int) -> tuple[list[IndexHere], dict[str, IndexFacts]]:
    """Primary keys, unique indexes and foreign keys of a table, and facts by the index's name."""
    columns = {str(row[0]): row for row in server.rows(_COLUMNS, [oid])}
    foreign = [tuple(row[0]) for row in server.rows(_FOREIGN, [oid])]
    found, facts, covered = [], {}, set()
    for name, number, primary, unique, partial, keys, width, method, options, named in server.rows(_INDEXES, [oid]):
        if 0 in keys[:width] or not named:
            continue  # an expression
        own = tuple(str(column) for column in named)
        roles: list[Role] = []
        if primary or unique:
            roles.append("primary key" if primary else "unique")
        if any(own[: len(key)] == key for key in foreign):
            roles.append("foreign key")
            covered |= {key for key in foreign if own[: len(key)] == key}
        if not roles:
            continue
        note = "a partial index" if partial else "" if method == "btree" else f"a {method} index, no b-tree"
        found.append(_index(str(name), own, tuple(roles), columns, note))
        fill = next((int(each.partition("=")[2]) for each in options or () if each.startswith("fillfactor=")), 90)
        widths = [int(columns[column][2]) if column in columns else -1 for column in own]
        whole = sum(_aligned(widths)) if len(keys) == width and min(widths) > 0 else None
        facts[str(name)] = IndexFacts(int(number), fill, whole, len(keys))
    found += [_index("", key, ("foreign key",), columns, "") for key in foreign if key not in covered]
    return found, facts


def _aligned(widths: Sequence[int]) -> list[int]:
    """Widths with the padding before each value, as integers and dates are aligned to their own width."""
    made, at = [], 0
    for width in widths:
        padding = -at % width if width in {2, 4, 8} else 0
        made.append(width + padding)
        at += width + padding
    return made


def _index(
    name: str, own: tuple[str, ...], roles: tuple[Role, ...], columns: dict[str, tuple[object, ...]], note: str
) -> IndexHere:
    _, kind, _, sql_type, may = columns.get(own[0], ("", "", 0, "", False))
    if not may:
        note = "; ".join(part for part in (note, f"this user may not read the column {own[0]}") if part)
    return IndexHere(name, own, roles, str(sql_type), _FORMS.get(str(kind)) if may else None, note=note)
