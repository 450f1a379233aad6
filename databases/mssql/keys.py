"""Keys that SQL Server makes itself."""

from __future__ import annotations

from keybench.model.names import CONTROL, RANDOM
from keybench.model.table import ServerKeys

SERVER_KEYS = (
    ServerKeys("server-identity", "the table's IDENTITY", "bigint", "rfc", "IDENTITY", replica=CONTROL),
    ServerKeys("server-newid", "NEWID(): random", "uniqueidentifier", "none", "DEFAULT NEWID()", replica=RANDOM),
    ServerKeys(
        "server-newsequentialid",
        "NEWSEQUENTIALID(): one counter of the whole server",
        "uniqueidentifier",
        "mssql",
        "DEFAULT NEWSEQUENTIALID()",
        replica="newsequentialid",
    ),
)
"""NEWSEQUENTIALID is documented to ascend, but has an implementation of its own on Linux: `checks` tests it."""
