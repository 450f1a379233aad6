"""SQL of InnoDB's tables: the statements that create and read them."""

from __future__ import annotations

from keybench.databases.core.ddl import sql_type
from keybench.databases.mysql.flavour import OTHER_UUID_ORDER, UUID_TYPE, number
from keybench.errors import ServerError
from keybench.model.table import Table

SCHEMA = "keybench"
"""The one database that keybench works in."""

COMMENT = "a trial of keybench, which removes it"
"""The comment of a trial's table, by which `keybench clean` recognises it."""

CLUSTERED_INDEX = "PRIMARY"
"""The server's name for the index that is the table itself."""


def check(table: Table, version: str) -> None:
    """ServerError where a MariaDB of that version has no type `uuid`, or one that sorts otherwise than today's."""
    of_server = number(version)
    if table.column.sql_type != "uuid":
        return
    problem = "has no type uuid" if of_server < UUID_TYPE else ""
    if any(first <= of_server < repaired for first, repaired in OTHER_UUID_ORDER):
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
    """The statement that creates the table, without its parent.

    By date, the primary key is the moment of creation and then the key, because two rows may have the same moment.
    """
    payload = f", payload varchar({table.payload}) CHARACTER SET ascii COLLATE ascii_bin NOT NULL"
    by_server = f" {table.server_keys.declaration}" if table.server_keys else ""
    columns = f"`key` {sql_type(table.column)} NOT NULL{by_server}{payload if table.payload else ''}"
    option = f" COMMENT 'MERGE_THRESHOLD={merge}'" if (merge := table.settings.get("merge_threshold")) else ""
    if table.key == "clustered":
        columns += f", PRIMARY KEY (`key`){option}"
    elif table.by_date:
        columns = f"created bigint NOT NULL, {columns}, PRIMARY KEY (created, `key`){option}"
        columns += f", UNIQUE KEY `key` (`key`){option}"
    else:
        unique = "" if table.key == "fk" else "UNIQUE "
        columns = f"row_id bigint NOT NULL AUTO_INCREMENT, {columns}, PRIMARY KEY (row_id){option}"
        columns += f", {unique}KEY `key` (`key`){option}"
    return f"CREATE TABLE {name(table)} ({columns}) ENGINE = InnoDB ROW_FORMAT = DYNAMIC COMMENT = '{COMMENT}'"


def row_order(table: Table) -> str:
    """The primary key of a table that has another index on its key."""
    return "created, `key`" if table.by_date else "row_id"


def columns(table: Table) -> str:
    """The columns in the order in which they are sent and read."""
    return ", ".join(["created"] * table.by_date + ["`key`"] + ["payload"] * bool(table.payload))


def sent_columns(table: Table) -> str:
    """The columns of an INSERT: all but a key that the server makes."""
    return "payload" if table.server_keys else columns(table)
