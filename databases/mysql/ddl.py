"""SQL of InnoDB's tables: the statements that create and read trials' tables, and those for users' own (`Advised`).

The tests run the latter on MySQL 9.7 and MariaDB 10.11.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from keybench.databases.contract.statements import BY_CLIENTS, UNTESTED, KeyedTable, Statement
from keybench.databases.core import ddl as core
from keybench.databases.mysql.flavour import MYSQL, OTHER_UUID_ORDER, UUID_FUNCTIONS, UUID_TYPE, Flavour, version_number
from keybench.errors import ServerError, UsageError
from keybench.generators.core.layout import layout
from keybench.model.table import Table

SCHEMA = "keybench"
"""The one database that keybench works in."""

COMMENT = "a trial of keybench, which removes it"
"""The comment of a trial's table, by which `keybench clean` recognises it."""

BACKQUOTES = "``"
"""What stands around names."""
CLUSTERED_INDEX = "PRIMARY"
"""The server's name for the index that is the table itself."""


def check(table: Table, version: str) -> None:
    """ServerError where a MariaDB of that version has no type `uuid`, or one that sorts otherwise than today's."""
    number = version_number(version)
    if table.column.sql_type != "uuid":
        return
    problem = "has no type uuid" if number < UUID_TYPE else ""
    if any(first <= number < repaired for first, repaired in OTHER_UUID_ORDER):
        problem = "sorts its type uuid in another order than newer ones (MDEV-29959)"
    if problem:
        raise ServerError(f"this MariaDB ({version}) {problem}: choose a newer --server, or --column binary16.")


def name(table: Table) -> str:
    """The table's quoted name."""
    return f"`{SCHEMA}`.`{table.name}`"


def index_name(table: Table) -> str:
    """The server's name for the key's index."""
    return CLUSTERED_INDEX if table.key == "clustered" or table.measures_rows else "key"


def create(table: Table) -> str:
    """The statement that creates the table, without its parent. By date, the primary key is the moment of creation and
    then the key, because two rows may have the same moment."""
    payload = f", payload varchar({max(table.payload, table.longest)}) CHARACTER SET ascii COLLATE ascii_bin NOT NULL"
    default = f" {table.server_keys.declaration}" if table.server_keys else ""
    columns = f"`key` {core.sql_type(table.column)} NOT NULL{default}{payload if table.payload else ''}"
    columns += ", status int NOT NULL DEFAULT 0" if table.status else ""
    index_comment = f" COMMENT 'MERGE_THRESHOLD={merge}'" if (merge := table.settings.get("merge_threshold")) else ""
    if table.key == "clustered":
        columns += f", PRIMARY KEY (`key`){index_comment}"
    elif table.by_date:
        columns = f"created bigint NOT NULL, {columns}, PRIMARY KEY (created, `key`){index_comment}"
        columns += f", UNIQUE KEY `key` (`key`){index_comment}"
    else:
        unique = "" if table.key == "fk" else "UNIQUE "
        columns = f"row_id bigint NOT NULL AUTO_INCREMENT, {columns}, PRIMARY KEY (row_id){index_comment}"
        columns += f", {unique}KEY `key` (`key`){index_comment}"
    columns += ", KEY status (status)" if table.status else ""
    return f"CREATE TABLE {name(table)} ({columns}) ENGINE = InnoDB ROW_FORMAT = DYNAMIC COMMENT = '{COMMENT}'"


def row_order(table: Table) -> str:
    """The primary key of a table that has another index on its key."""
    return "created, `key`" if table.by_date else "row_id"


def columns(table: Table) -> str:
    """The columns in the order in which they are sent and read."""
    return ("created, " if table.by_date else "") + "`key`" + (", payload" if table.payload else "")


def sent_columns(table: Table) -> str:
    """The columns of an INSERT: all but a key that the server makes."""
    return "payload" if table.server_keys else columns(table)


_RANDOM_BYTES = 101_000  # MariaDB's first version with RANDOM_BYTES() is 10.10
_NEWEST = {"mysql": "9.7", "mariadb": "11.8"}
_OLDEST = {"mysql": "8.0.13", "mariadb": "10.6"}
"""The newest and the oldest version of each flavour for which statements are written."""
_MILLISECONDS = (
    "RIGHT(LPAD(HEX(TIMESTAMPDIFF(MICROSECOND, TIMESTAMP'1970-01-01 00:00:00',\n"
    "      UTC_TIMESTAMP(6)) DIV 1000), 16, '0'), 12)"
)
"""SQL for 12 hexadecimal digits: the Unix milliseconds of the call."""
_VARIANT = "HEX(ORD(RANDOM_BYTES(1)) & 63 | 128)"
"""SQL for two hexadecimal digits: the variant bits 10, then six random bits."""
_SWAPPED = (
    "UNHEX(REGEXP_REPLACE(UUID(),\n    '(.{8})-(.{4})-(.{4})-(.{4})-(.{12})', "
    r"'\\3\\2\\1\\4\\5'))"
)
"""SQL for what MySQL's UUID_TO_BIN(UUID(), 1) is: an ascending key, also before MariaDB 10.7 with its type uuid."""
_UNIQUE = {"binary16": "DEFAULT (UNHEX(REPLACE(UUID(), '-', '')))", "uuid": "DEFAULT UUID()"}
"""By column: a default that every version of both flavours has."""
_SAME_KEY = {
    ("text", "binary16"): "DEFAULT (UNHEX(REPLACE(id, '-', '')))",
    ("text", "uuid"): "DEFAULT (id)",
    ("bytes", "uuid"): "DEFAULT (id)",
}
"""By (form, new column): a default that is the row's key in the new column's type."""
_A_MOMENT = "For a moment: no row is read."
_SWAP = "DROP PRIMARY KEY, ADD PRIMARY KEY (id_new), ADD UNIQUE KEY id_old (id),\n  ALGORITHM = INPLACE"
_SWAP_NOTE = "Builds the table again in the order of the new key. The old key keeps an index."
_ONLINE = (
    "Reads and writes go on; at its beginning and end it waits for all transactions on the table, and new ones wait "
    "behind it: set lock_wait_timeout."
)


def _digits(version: int, *, leads: bool, trails: bool = False) -> str:
    """SQL for the 32 hexadecimal digits of a new GUID of that version. Its milliseconds come first (`leads`) or last
    (`trails`), or it has none."""
    first = _MILLISECONDS if leads else "HEX(RANDOM_BYTES(6))"
    of_version = f"HEX(ORD(RANDOM_BYTES(1)) & 15 | {16 * version})"
    rest = f"HEX(RANDOM_BYTES(1)),\n    {_MILLISECONDS}" if trails else "HEX(RANDOM_BYTES(7))"
    return f"CONCAT(\n    {first},\n    {of_version}, HEX(RANDOM_BYTES(1)),\n    {_VARIANT}, {rest})"


@dataclass(frozen=True)
class Advised:
    """The statements of one flavour."""

    flavour: Flavour

    def version(self, name: str) -> int:
        """A version that a user names, as one number; the newest for an empty name. UsageError for one that is too old
        or no version."""
        flavour = self.flavour
        text = name or _NEWEST[flavour.name]
        version = version_number(f"{text}.99" if text.count(".") == 1 else text)  # of a series, its newest
        if not re.match(r"\d+\.\d+(\.|-|$)", text) or version < version_number(_OLDEST[flavour.name]):
            raise UsageError(
                f"{flavour.title} {name!r} is unknown: name a version from {_OLDEST[flavour.name]} on, for example "
                f"{_NEWEST[flavour.name]}."
            )
        return version

    def _confirmed(self, version: int) -> bool:
        """Whether tests have run the statements for this version: none has run those for MariaDB from 11.7 on."""
        return self.flavour is MYSQL or version < UUID_FUNCTIONS

    def _page(self, mysql: str, mariadb: str) -> str:
        """The address of a page of this flavour's documentation: `mysql` or `mariadb` is its name there."""
        if self.flavour is MYSQL:
            return f"https://dev.mysql.com/doc/refman/8.4/en/{mysql}"
        return f"https://mariadb.com/kb/en/{mariadb}"

    def _altering(self, table: KeyedTable, change: str, note: str, locks: str) -> Statement:
        """The statement ALTER TABLE with this change; `locks` says what it locks."""
        space = "\n  " if "\n" in change else " "  # a change of several lines begins on a line of its own
        page = self._page("innodb-online-ddl-operations.html", "innodb-online-ddl-overview/")
        sql = f"ALTER TABLE {core.identifier(table.name, BACKQUOTES)}{space}{change}"
        return Statement(sql, note, self._confirmed(self.version(table.version)), page, locks)

    def _default(self, table: KeyedTable) -> tuple[str, str]:
        """(the declaration after the column's type by which the server makes keys, a note for the user). The
        declaration is empty if the server makes no such keys. UsageError if this version lacks the column's type."""
        version, column, is_mariadb = self.version(table.version), table.column, self.flavour is not MYSQL
        if column.sql_type == "uuid" and version < UUID_TYPE:
            raise UsageError("MariaDB has the type uuid from 10.7 on: choose the column binary16, or a newer version.")
        if table.by_clients:
            return "", BY_CLIENTS
        if server_keys := core.server_made(self.flavour.server_keys, table.layout, column, version):
            return server_keys.declaration, core.note_on_server_keys(server_keys, table.layout)
        if is_mariadb and column.name == "binary16-swapped" and core.alike("mariadb-uuid-v1", table.layout):
            return f"DEFAULT ({_SWAPPED})", f"{core.SERVER_MAKES} It is UUID() with the high bits of its time first."
        if is_mariadb and version < _RANDOM_BYTES:
            return "", "The application makes the keys: this version of the server has no function for them."
        digits = self._expression(table)
        if not digits:
            return "", core.NO_FUNCTION
        caveat = "All rows of one statement share one time." if _MILLISECONDS in digits else ""
        declaration = f"DEFAULT ({digits})" if column.sql_type == "uuid" else f"DEFAULT (UNHEX({digits}))"
        sentences = (core.SERVER_MAKES, caveat, "Log rows, not statements (binlog_format = ROW).")
        return declaration, " ".join(filter(None, sentences))

    def _expression(self, table: KeyedTable) -> str:
        """SQL for the hexadecimal digits of a new key of the table's layout; empty if keybench knows none."""
        name, column = table.layout, table.column.name
        if column not in ("binary16", "uuid"):
            return ""
        if name == "uuid-v4":
            return _digits(4, leads=False)
        if core.uuid_version(name) == 7 and layout(name).order == "rfc":
            return _digits(7, leads=True)
        if name in ("rt-comb-postgresql", "marten") and column == "binary16":
            return _digits(4, leads=True)
        if name == "rt-comb-sql" and column == "uuid":
            return _digits(4, leads=False, trails=True)
        return ""

    def creating(self, table: KeyedTable) -> Sequence[Statement]:
        """The table, clustered by its key."""
        declaration, note = self._default(table)
        key = " ".join(filter(None, ["id", core.sql_type(table.column), "NOT NULL", declaration, "PRIMARY KEY"]))
        sql = (
            f"CREATE TABLE {core.identifier(table.name, BACKQUOTES)} (\n  {key},\n"
            "  created_at datetime(3) NOT NULL DEFAULT CURRENT_TIMESTAMP(3)\n) ENGINE = InnoDB"
        )
        clustered = "Rows lie in the order of the key, and every secondary index has the key once more."
        page = self._page("innodb-index-types.html", "innodb/")
        return [Statement(sql, f"{note} {clustered}", self._confirmed(self.version(table.version)), page)]

    def switching(self, table: KeyedTable) -> Sequence[Statement]:
        """The statement that sets the new default. Where the server cannot, the step that people take instead: deploy
        the application that makes the keys, or convert the keys because a number cannot stand among GUIDs."""
        declaration, note = self._default(table)
        if step := core.step_instead_of_default(table, declaration, note):
            return [step]
        lock = "For a moment, an exclusive metadata lock; no row is read."
        return [self._altering(table, f"ALTER COLUMN id SET {declaration}", note, lock)]

    def rebuilding(self, table: KeyedTable) -> Sequence[Statement]:
        """The table with all its indexes, online."""
        note = (
            "Rebuilds the table, because the key's index is the table, and all secondary indexes. Needs room for a "
            "second table until it ends; OPTIMIZE TABLE does the same."
        )
        if layout(table.layout).order == "none":
            note += " Where random keys stay, pages are full after it and then split all at one time: see fill factors."
        return [self._altering(table, "ENGINE = InnoDB, ALGORITHM = INPLACE, LOCK = NONE", note, _ONLINE)]

    def adding_public_id(self, table: KeyedTable) -> Sequence[Statement]:
        """A random UUID that new rows get from a default, and old rows in ranges of the key."""
        version = self.version(table.version)
        if table.column.form != "int" or (self.flavour is not MYSQL and version < _RANDOM_BYTES):
            return [UNTESTED]
        columns = {column.name: column for column in self.flavour.columns}
        public = KeyedTable(table.name, columns.get("uuid", columns["binary16"]), "uuid-v4", table.version)
        declaration, note = self._default(public)
        sql_type = core.sql_type(public.column)
        name = core.identifier(table.name, BACKQUOTES)
        fill, page = core.fill_public_ids(name, "DEFAULT"), self._page("update.html", "update/")
        return [
            self._altering(table, f"ADD COLUMN public_id {sql_type}", core.PUBLIC_ID, _A_MOMENT),
            self._altering(table, f"ALTER COLUMN public_id SET {declaration}", note, _A_MOMENT),
            Statement(fill, core.NEXT_RANGES, self._confirmed(version), page, "Its rows."),
            self._altering(
                table,
                f"MODIFY public_id {sql_type} NOT NULL {declaration},\n  ADD UNIQUE KEY public_id (public_id), "
                "ALGORITHM = INPLACE, LOCK = NONE",
                "Builds the table again.",
                _ONLINE,
            ),
        ]

    def converting(self, table: KeyedTable, into: KeyedTable, *, same_keys: bool = False) -> Sequence[Statement]:
        """Adds a key, puts the table in its order (`_numbered`, `_filled`), and swaps the names of the two columns."""
        is_numbered = "AUTO" in self._default(into)[0]  # AUTO_INCREMENT
        steps = self._numbered(table, into) if is_numbered else self._filled(table, into, same_keys=same_keys)
        if not steps:
            return [UNTESTED]
        rename = "RENAME COLUMN id TO id_old, RENAME COLUMN id_new TO id"
        at_once = "SET foreign_key_checks = 0 before it adds the foreign key at once, unchecked."
        last_step = Statement("", f"{core.AFTER_STANDSTILL} {at_once}")
        return [*steps, self._altering(table, rename, "", _A_MOMENT), last_step]

    def _numbered(self, table: KeyedTable, into: KeyedTable) -> list[Statement]:
        """The steps of `converting` before the columns change names, where the server numbers all rows."""
        declaration, _ = self._default(into)
        locks = "Reads go on; writes wait until it ends: stop the application if it cannot wait so long."
        change = f"ADD COLUMN id_new {core.sql_type(into.column)} NOT NULL {declaration},\n  {_SWAP}, LOCK = SHARED"
        numbering = self._altering(table, change, f"Numbers the rows. {_SWAP_NOTE}", locks)
        return [numbering, Statement("", core.FILL_CHILDREN), Statement("", core.STANDSTILL)]

    def _filled(self, table: KeyedTable, into: KeyedTable, *, same_keys: bool) -> list[Statement]:
        """The same steps where new rows get the new key from a default, which can be the old key in the new type, and
        old rows get it in batches. Empty if no default is known."""
        declaration, note = self._default(into)
        old_type, new_type = core.sql_type(table.column), core.sql_type(into.column)
        rfc = table.column.order == "rfc"  # bytes in another order are not those of the text
        same_key = _SAME_KEY.get((table.column.form, into.column.name)) if rfc else None
        # The default until the columns change names. If the application is to make keys, any unique one will do.
        default = same_key if same_keys else declaration or _UNIQUE.get(into.column.name)
        if not default:
            return []
        change, swap_note = f"MODIFY id_new {new_type} NOT NULL {default},\n  {_SWAP}, LOCK = NONE", _SWAP_NOTE
        if table.column.form != "int" and not self._default(table)[0]:  # then nothing gives new rows an old key
            change = f"MODIFY id {old_type} NULL,\n  {change}"
            swap_note += " MODIFY takes away a default of id: repeat it there, if it has one."
        fill = core.FILL_SAME_KEYS if same_keys else core.FILL_NEW_KEYS
        steps = [
            self._altering(table, f"ADD COLUMN id_new {new_type}", note, _A_MOMENT),
            self._altering(table, f"ALTER COLUMN id_new SET {default}", "New rows get both keys.", _A_MOMENT),
            Statement("", f"{fill} {core.FILL_CHILDREN}"),
            self._altering(table, change, swap_note, _ONLINE),
            Statement("", core.STANDSTILL),
        ]
        if declaration != default:
            last_default = f"SET {declaration}" if declaration else "DROP DEFAULT"
            steps.append(self._altering(table, f"ALTER COLUMN id_new {last_default}", "", _A_MOMENT))
        return steps
