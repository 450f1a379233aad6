"""The coordination table in MariaDB and MySQL: a table in memory, whose changes InnoDB does not log."""

from __future__ import annotations

from keybench.databases.contract.roles import Address
from keybench.databases.core.coordination import COLUMNS, TABLE, CoordinationTable, Dialect, Rows, Values, positional
from keybench.databases.mysql.connection import Queries
from keybench.databases.mysql.ddl import COMMENT, SCHEMA

NAME = f"`{SCHEMA}`.`{TABLE}`"
CREATE = (
    f"CREATE TABLE IF NOT EXISTS {NAME} ({', '.join(f'{column} bigint NOT NULL' for column in COLUMNS)}, "
    f"PRIMARY KEY ({', '.join(COLUMNS[:2])})) ENGINE = MEMORY COMMENT = '{COMMENT}'"
)
DROP = f"DROP TABLE IF EXISTS {NAME}"


def coordination_table(address: Address) -> CoordinationTable:
    """A new connection; EnvironmentMissing where a URL's server cannot be reached, else ServerError."""
    server = Queries(address)

    def run(statement: str, values: Values) -> Rows:
        text, parameters = positional(statement, values, "%s")
        rows, count = server.run(text, parameters)
        return rows if text.startswith("SELECT") else [(count,)]

    return CoordinationTable(Dialect(NAME, (CREATE,), (DROP,), run, server.close))
