"""The coordination table in SQL Server: a small table; not yet run on a server.

Its changes are logged in the trials' database. Commits wait for the disk unless DELAYED_DURABILITY is forced there.
"""

from __future__ import annotations

from keybench.databases.contract.roles import Address
from keybench.databases.core.coordination import COLUMNS, TABLE, CoordinationTable, Dialect, Rows, Values, positional
from keybench.databases.mssql import connection
from keybench.databases.mssql.ddl import SCHEMA

NAME = f"[{SCHEMA}].[{TABLE}]"
CREATE = (
    f"IF OBJECT_ID(N'{NAME}') IS NULL CREATE TABLE {NAME} "
    f"({', '.join(f'{column} bigint NOT NULL' for column in COLUMNS)}, "
    f"PRIMARY KEY CLUSTERED ({', '.join(COLUMNS[:2])}))"
)
DROP = f"DROP TABLE IF EXISTS {NAME}"


def coordination_table(address: Address) -> CoordinationTable:
    """A new connection; EnvironmentMissing where a URL's server cannot be reached, else ServerError."""
    own = connection.connect(address)

    def run(statement: str, values: Values) -> Rows:
        text, given = positional(statement, values, "?")
        return own.rows(text, *given) if text.startswith("SELECT") else [(own.run(text, *given),)]

    return CoordinationTable(Dialect(NAME, (CREATE,), (DROP,), run, own.close))
