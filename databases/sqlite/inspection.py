"""A read-only look at an SQLite file: its schema by SQL, keys and the fill of pages by reading pages of its b-trees.

Random branches are followed to a bounded number of leaves, so that a file of any size is looked at in about the same
time. A file in WAL mode that nobody has open is opened as immutable, because SQLite would otherwise make a file for
shared memory beside it.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final
from urllib.parse import quote

import apsw
import numpy as np

from keybench.databases.contract.existing import (
    INDEX_PAGES,
    LOCK_SECONDS,
    PAGES,
    About,
    Allow,
    ColumnHere,
    Form,
    IndexHere,
    Inspector,
    PagesHere,
    SampleHere,
    TableHere,
    WholeIndex,
    first_row_and_columns,
    key_roles,
    values_of,
)
from keybench.databases.sqlite.pages import LEAF_HEADER, Page, SampledTree, SqliteFile, Value, sampled_tree
from keybench.errors import EnvironmentMissing, ServerError, UsageError
from keybench.model.column import Column
from keybench.model.url import shown
from keybench.pagemodels.sqlite import records

_NOT_STORED: Final = 2  # in the column `hidden` of table_xinfo: a generated column that is not stored
_FEW: Final = 30  # leaves of a table that are read to know about how large it is
_KEYS, _PER_LEAF = 8_000, 100
"""Keys that are taken at most: of all leaves of a table without rowids, and of one leaf of a table with them."""
_KINDS: Final[dict[Form, type]] = {"bytes": bytes, "text": str, "int": int}
_WAL: Final = 2  # byte 18 of a file in WAL mode


@dataclass(frozen=True)
class Shape:
    """How a table is stored: the page of its root, and whether it has rowids."""

    root: int
    rowids: bool
    columns: tuple[str, ...]
    """In the order of its records."""
    alias: str
    """The column that is the rowid; empty if there is none."""
    types: Mapping[str, str]
    """What each column declares as its type."""


@contextmanager
def _damage() -> Iterator[None]:
    """Turns errors to which pages of a damaged file lead into ServerError."""
    try:
        yield
    except (ArithmeticError, LookupError, OSError, ValueError) as error:
        raise ServerError(f"the file is damaged ({error}): PRAGMA integrity_check says where.") from None


def read_only(path: Path) -> apsw.Connection:
    """A connection that cannot write to the file or beside it."""
    with path.open("rb") as file:
        in_wal = file.read(20)[18:19] == bytes([_WAL])  # a slice: the file may be shorter
    log = path.with_name(path.name + "-wal")
    nobody_writes = in_wal and not (log.exists() and log.stat().st_size)
    uri = f"file:{quote(str(path.absolute()))}?mode=ro" + ("&immutable=1" if nobody_writes else "")
    connection = apsw.Connection(uri, flags=apsw.SQLITE_OPEN_READONLY | apsw.SQLITE_OPEN_URI)
    connection.set_busy_timeout(1000 * LOCK_SECONDS)
    return connection


class SqliteInspector(Inspector):
    """One file."""

    def __init__(self, path: Path) -> None:
        """EnvironmentMissing if the file cannot be read or is none of SQLite's."""
        self._path = path
        self._open = ExitStack()
        try:
            self._file = self._open.enter_context(closing(SqliteFile(path)))
            self._connection = self._open.enter_context(closing(read_only(path)))
            self._connection.execute("PRAGMA query_only = 1")
            self._connection.execute("BEGIN")
            self._schema = {  # by name: (type, table, root page, SQL)
                str(name): (str(kind), str(table), int(root or 0), str(sql or ""))
                for kind, name, table, root, sql in self._connection.execute(
                    "SELECT type, name, tbl_name, rootpage, sql FROM sqlite_schema WHERE type <> 'trigger'"
                )
            }
        except (OSError, ValueError, apsw.Error) as error:
            self.close()
            reason = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
            raise EnvironmentMissing(
                f"{shown(str(path))} cannot be read as an SQLite database: {reason.rstrip('.')}.\n"
                "Check the path, and that you may read it."
            ) from None
        self._trees: dict[int, SampledTree] = {}

    def about(self) -> About:
        """The file, opened for reading alone."""
        return About(
            "sqlite",
            apsw.sqlite_lib_version(),
            f"SQLite {apsw.sqlite_lib_version()}, {self._path.name}",
            (
                "The file is opened for reading alone (mode=ro, PRAGMA query_only), in one transaction.",
                f"At most {INDEX_PAGES:,} leaves of each table and index are read, found by following random branches; "
                "smaller ones are read whole.",
            ),
            ("SQLite keeps no counters: nobody knows how many rows are inserted a day.",),
        )

    def tables(self) -> Sequence[TableHere]:
        """All tables and views, the largest first."""
        tables = []
        children = {
            str(name): int(str(count))
            for name, count in self._rows(
                'SELECT f."table", count(*) FROM sqlite_schema m, pragma_foreign_key_list(m.name) f '
                "WHERE m.type = 'table' AND f.seq = 0 GROUP BY 1"
            )
        }
        for name, (kind, _, root, _) in self._schema.items():
            if name.startswith("sqlite_") or kind == "index":
                continue
            if kind == "view":
                tables.append(TableHere("", name, "view", refused="a view has no keys of its own: name its tables."))
            elif not root:
                tables.append(TableHere("", name, "other", refused="a virtual table stores its rows elsewhere."))
            else:
                try:
                    with _damage():
                        tree = sampled_tree(self._file, root, _FEW, np.random.default_rng(root))
                    size = round(tree.total * self._file.page_bytes)
                    tables.append(TableHere("", name, bytes=size, children=children.get(name, 0)))
                except ServerError as error:
                    tables.append(TableHere("", name, refused=str(error)))
        return sorted(tables, key=lambda table: -(table.bytes or 0))

    @_damage()
    def details(self, table: TableHere) -> TableHere:
        """The table with its number of rows, estimated from its leaves, and the mean bytes of their records."""
        shape = self._shape(table.name)
        tree = self._tree(shape.root)
        counts = [len(page.cells) for page in tree.leaves]
        lengths = [length for page in tree.leaves[:50] for _, length, _ in page.rows(self._file.usable)]
        mean = float(np.average(counts, weights=tree.weights)) if counts else 0.0
        return replace(
            table,
            # without rowids, branch pages hold rows as well: one between every two leaves
            rows=round(mean * tree.total + (0 if shape.rowids else tree.total - 1)),
            rows_from="counted" if tree.whole else "estimated from a sample of leaves",
            bytes=round(tree.total * self._file.page_bytes),
            row_bytes=float(np.mean(lengths)) if lengths else None,
        )

    @_damage()
    def indexes(self, table: TableHere) -> Sequence[IndexHere]:
        """The primary key, unique indexes and foreign keys by SQLite's pragmas; without an index, the name is empty."""
        name, shape = table.name, self._shape(table.name)
        rows = self._rows("SELECT * FROM pragma_foreign_key_list(?)", name)
        foreign = [columns for _, columns in first_row_and_columns(rows, name=0, column=3).values()]  # 3: `from`
        indexes: list[IndexHere] = []
        if shape.alias:
            roles = key_roles((shape.alias,), foreign, primary=True, unique=True)
            indexes.append(IndexHere(name, self._key(shape, (shape.alias,)), roles, is_table=True))
        covered = {shape.alias}  # the columns with which a key begins
        for _, index, unique, origin, partial in self._rows("SELECT * FROM pragma_index_list(?)", name):
            parts = self._rows("SELECT * FROM pragma_index_info(?)", str(index))
            columns = tuple(str(column) for *_, column in parts)
            roles = key_roles(columns, foreign, primary=origin == "pk", unique=bool(unique))
            if not roles:
                continue
            covered.add(columns[0])
            if any(column is None for *_, column in parts):  # an expression
                continue
            is_table = origin == "pk" and not shape.rowids
            tree_name = name if is_table else str(index)
            note = "a partial index" if partial else ""
            indexes.append(IndexHere(tree_name, self._key(shape, columns), roles, is_table=is_table, note=note))
        uncovered = [columns for columns in foreign if columns[0] not in covered]
        return indexes + [IndexHere("", self._key(shape, columns), ("foreign key",)) for columns in uncovered]

    def _key(self, shape: Shape, columns: Sequence[str]) -> tuple[ColumnHere, ...]:
        """These columns, each with the form of its first values: in SQLite a column's declared type binds no value. No
        form if there are no values, or values of several types."""
        keys = [key for _, key in self._values(self._tree(shape.root).leaves[:5], shape, columns, 50)]
        forms: dict[type, Form] = {kind: form for form, kind in _KINDS.items()}
        here = []
        for i, column in enumerate(columns):
            kinds = {type(key[i]) for key in keys}
            form = forms.get(kinds.pop()) if len(kinds) == 1 else None
            most = (1 << 63) - 1 if form == "int" else None
            here.append(ColumnHere(column, shape.types[column], form, most=most))
        return tuple(here)

    @_damage()
    def sample(self, table: TableHere, index: IndexHere) -> SampleHere:
        """Keys from leaves of the table: neighbours if the table has rowids, so that they lie in order of arrival; else
        a few keys of many leaves, because neighbours in order of the key have the same leading bits."""
        shape = self._shape(table.name)
        types = [_KINDS[column.form] if column.form else object for column in index.key]
        tree = self._tree(shape.root)
        leaves, weights = tree.leaves, tree.weights
        most_of_leaf = _PER_LEAF if shape.rowids else max(1, _KEYS // max(1, len(leaves)))
        if len(leaves) > PAGES and shape.rowids:
            spread = np.linspace(0, len(leaves) - 1, PAGES).astype(int)
            leaves = tuple(leaves[place] for place in spread)
            weights = tuple(weights[place] for place in spread)
        rowids: list[int] = []
        values: list[tuple[Value, ...]] = []
        rows_for_key: list[float] = []  # how many rows of the table each key stands for
        for leaf, weight in zip(leaves, weights, strict=True):
            rows = self._values([leaf], shape, index.columns, most_of_leaf)
            # a column may hold values of any type
            usable = [(rowid, key) for rowid, key in rows if all(map(isinstance, key, types))]
            rowids += [rowid for rowid, _ in usable]
            values += [key for _, key in usable]
            rows_for_key += [weight * len(leaf.cells) / max(1, len(usable))] * len(usable)
        rowids_show_arrival = shape.rowids and index.columns[0] != shape.alias  # else the rowid is the key itself
        order = np.argsort(rowids, kind="stable") if shape.rowids else np.arange(len(rowids))
        sorted_rowids = np.array(rowids, np.int64)[order]
        keys, others = values_of([values[place] for place in order], index.key)
        return SampleHere(
            keys,
            arrival=sorted_rowids.astype(np.float64) if rowids_show_arrival else None,
            arrival_from="rowid" if rowids_show_arrival else "",
            # the first rowid follows none: the one before it is made up, at a distance of 2
            after_the_one_before=np.diff(sorted_rowids, prepend=sorted_rowids[:1] - 2) == 1 if shape.rowids else None,
            weights=np.array(rows_for_key)[order],
            pages_read=len(leaves),
            others=others,
        )

    @_damage()
    def pages(self, table: TableHere, index: IndexHere, sample: SampleHere) -> PagesHere:  # noqa: ARG002
        """How full the leaves of the index's b-tree are, from all of them or a weighted sample."""
        if not index.name:
            return PagesHere(missing="no index begins with this foreign key.")
        pages_before = self._file.pages_read
        tree = self._tree(self._root(table, index))
        room = self._file.usable - LEAF_HEADER
        used = np.array([100 * (1 - page.free() / room) for page in tree.leaves])
        weights = np.array(tree.weights)  # how many leaves of the tree each one stands for
        mean = float((used * weights).sum() / weights.sum())
        standard_error = float(np.sqrt((weights**2 * (used - mean) ** 2).sum()) / weights.sum())
        return PagesHere(
            bytes=round(tree.total * self._file.page_bytes),
            leaf_pages=tree.total,
            density=mean,
            backward=None if tree.backward is None else 100 * tree.backward,
            full=100.0 if tree.leaves[0].of_rowids else records.ASCENDING_FILL * 100,
            origin="measured" if tree.whole else "sampled",
            error=0.0 if tree.whole else 1.96 * standard_error,  # of the 95 % interval
            pages_read=max(self._file.pages_read - pages_before, len(tree.leaves)),  # `_tree` may have had them
        )

    @_damage()
    def whole(self, table: TableHere, index: IndexHere, column: Column, allow: Allow) -> WholeIndex:
        """All pages of the index's b-tree."""
        if len(index.key) > 1 or index.note or not index.name:
            raise UsageError("--next knows unique indexes of all rows on one column.")
        root, highest_rowid = self._root(table, index), None
        allow(round(self._tree(root).total * self._file.page_bytes), "each page of the index is read from the file.")
        if not index.is_table:
            name = table.name.replace('"', '""')
            ((highest,),) = self._rows(f'SELECT max(_rowid_) FROM "{name}"')  # noqa: S608 (quoted)
            highest_rowid = int(str(highest or 0))
        from keybench.databases.sqlite.whole import whole_tree  # with the page model

        return whole_tree(self._file, root, column, highest_rowid)

    def _root(self, table: TableHere, index: IndexHere) -> int:
        return self._shape(table.name).root if index.is_table else self._schema[index.name][2]

    def _values(
        self, leaves: Sequence[Page], shape: Shape, columns: Sequence[str], most: int
    ) -> Iterator[tuple[int, tuple[Value, ...]]]:
        """(rowid, values of these columns) of up to `most` rows of each leaf: consecutive ones if the table has rowids,
        else evenly spread ones. Rows with NULL in the first of these columns are left out."""
        places = [None if column == shape.alias else shape.columns.index(column) for column in columns]
        for leaf in leaves:
            step = 1 if shape.rowids else max(1, len(leaf.cells) // most)
            for number, (rowid, _, values) in enumerate(leaf.rows(self._file.usable)):
                if number >= most * step:
                    break
                if number % step:
                    continue
                key = tuple(_value(rowid, values, place) for place in places)
                if key[0] is not None:
                    yield rowid, key

    def _tree(self, root: int) -> SampledTree:
        """The leaves of the b-tree with that root page, read once."""
        if root not in self._trees:
            self._trees[root] = sampled_tree(self._file, root, INDEX_PAGES, np.random.default_rng(root))
        return self._trees[root]

    def _shape(self, name: str) -> Shape:
        """How the table of that name is stored."""
        _, _, root, sql = self._schema[name]
        columns = [  # (name, declared type, place in the primary key, or 0)
            (str(column), str(declared or ""), int(str(place)))
            for _, column, declared, _, _, place, hidden in self._rows("SELECT * FROM pragma_table_xinfo(?)", name)
            if hidden != _NOT_STORED
        ]
        types = {column: declared for column, declared, _ in columns}
        primary = [column for _, column in sorted((place, column) for column, _, place in columns if place)]
        if re.search(r"\bWITHOUT\s+ROWID\b[^)]*$", sql, re.IGNORECASE):  # behind the last parenthesis
            others = [column for column, _, place in columns if not place]
            return Shape(root, rowids=False, columns=(*primary, *others), alias="", types=types)
        integers = {column for column, declared, _ in columns if declared.upper() == "INTEGER"}
        alias = primary[0] if len(primary) == 1 and primary[0] in integers else ""
        return Shape(root, rowids=True, columns=tuple(types), alias=alias, types=types)

    def _rows(self, statement: str, *values: str) -> list[tuple[object, ...]]:
        """The rows of a query; ServerError if SQLite refuses it."""
        try:
            return list(self._connection.execute(statement, values))
        except apsw.Error as error:
            raise ServerError(f"SQLite: {error}") from None

    def close(self) -> None:
        """Closes the file."""
        self._open.close()


def _value(rowid: int, values: Sequence[Value], place: int | None) -> Value:
    """The value at a place in a row's record: the rowid if the place is None, None if the record ends before it."""
    if place is None:
        return rowid
    return values[place] if place < len(values) else None
