"""The coordination table in Oracle: a small table of the user's; not yet run on a server.

Its commits do not wait for the disk. It has a session of its own, so the redo of the writers' sessions, which is what
is measured, does not contain its changes.
"""

from __future__ import annotations

from keybench.databases.contract.roles import Address
from keybench.databases.core.coordination import COLUMNS, CoordinationTable, Dialect, Rows, Values
from keybench.databases.oracle import connection
from keybench.databases.oracle.ddl import COORDINATION_TABLE

CREATE = (
    f"CREATE TABLE IF NOT EXISTS {COORDINATION_TABLE} "
    f"({', '.join(f'{column} NUMBER(19) NOT NULL' for column in COLUMNS)}, "
    f"PRIMARY KEY ({', '.join(COLUMNS[:2])}))"
)
DROP = f"DROP TABLE IF EXISTS {COORDINATION_TABLE} PURGE"
COMMIT = "COMMIT WRITE BATCH NOWAIT"


def coordination_table(address: Address) -> CoordinationTable:
    """A new connection; EnvironmentMissing where a URL's server cannot be reached, else ServerError."""
    own = connection.connect(address)

    def run(statement: str, values: Values) -> Rows:
        if statement.startswith("SELECT"):
            return own.rows(statement, values)
        changed = own.run(statement, values)
        own.run(COMMIT)
        return [(changed,)]

    return CoordinationTable(Dialect(COORDINATION_TABLE, (CREATE,), (DROP,), run, own.close))
