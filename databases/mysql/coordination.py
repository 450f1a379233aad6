"""The coordination table in MariaDB and MySQL: a table in memory, whose changes are in no log of InnoDB's."""

from __future__ import annotations

from keybench.databases.contract import Address
from keybench.databases.core.coordination import COLUMNS, TABLE, CoordinationTable, Dialect, Rows, Values, positional
from keybench.databases.mysql import connection
from keybench.databases.mysql.ddl import COMMENT, SCHEMA
from keybench.databases.mysql.flavour import flavour

NAME = f"`{SCHEMA}`.`{TABLE}`"
CREATE = (
    f"CREATE TABLE IF NOT EXISTS {NAME} ({', '.join(f'{column} bigint NOT NULL' for column in COLUMNS)}, "
    f"PRIMARY KEY ({', '.join(COLUMNS[:2])})) ENGINE = MEMORY COMMENT = '{COMMENT}'"
)
DROP = f"DROP TABLE IF EXISTS {NAME}"


def coordination_table(address: Address) -> CoordinationTable:
    """A new connection; EnvironmentMissing where a URL's server cannot be reached, else ServerError."""
    own, title = connection.connect(address), flavour(address.engine).title

    def run(statement: str, values: Values) -> Rows:
        text, given = positional(statement, values, "%s")
        with connection.server_errors(title), own.cursor() as cursor:
            changed = cursor.execute(text, given or None)
            return list(cursor.fetchall()) if cursor.description else [(changed,)]

    def close() -> None:
        if own.open:
            own.close()

    return CoordinationTable(Dialect(NAME, (CREATE,), (DROP,), run, close))
