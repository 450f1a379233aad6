"""The coordination table in PostgreSQL: an unlogged table, so that its changes do not wait for the disk."""

from __future__ import annotations

from psycopg import sql

from keybench.databases.contract.roles import Address
from keybench.databases.core.coordination import COLUMNS, TABLE, CoordinationTable, Dialect, Rows, Values, positional
from keybench.databases.postgresql import connection
from keybench.databases.postgresql.ddl import SCHEMA

NAME = f"{SCHEMA}.{TABLE}"
CREATE = (
    f"CREATE UNLOGGED TABLE IF NOT EXISTS {NAME} ({', '.join(f'{column} bigint NOT NULL' for column in COLUMNS)}, "
    f"PRIMARY KEY ({', '.join(COLUMNS[:2])})) WITH (fillfactor = 10, autovacuum_enabled = false)"
)
"""The fill factor leaves room in the pages for new versions of the rows."""
DROP = f"DROP TABLE IF EXISTS {NAME}"


def coordination_table(address: Address) -> CoordinationTable:
    """A new connection to the table.

    Raises EnvironmentMissing if a URL's server cannot be reached, and ServerError for other servers.
    """
    own = connection.connect(address)
    with connection.server_errors():
        own.execute("SET synchronous_commit = off; SET client_min_messages = warning")

    def run(statement: str, values: Values) -> Rows:
        text, given = positional(statement, values, "%s")
        with connection.server_errors():
            cursor = own.execute(sql.SQL(text), given or None)
            return cursor.fetchall() if cursor.description else [(cursor.rowcount,)]

    return CoordinationTable(Dialect(NAME, (CREATE,), (DROP,), run, own.close))
