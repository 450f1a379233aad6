"""Keys that SQL Server makes itself."""

from __future__ import annotations

from keybench.model.table import ServerKeys

MADE = (
    ServerKeys("server-identity", "the table's IDENTITY", "bigint", "rfc", "IDENTITY"),
    ServerKeys("server-newid", "NEWID(): random", "uniqueidentifier", "none", "DEFAULT NEWID()"),
    ServerKeys(
        "server-newsequentialid",
        "NEWSEQUENTIALID(): one counter of the whole server",
        "uniqueidentifier",
        "mssql",
        "DEFAULT NEWSEQUENTIALID()",
    ),
)
"""NEWSEQUENTIALID is documented to ascend, but has an implementation of its own on Linux: `checks` tests it."""
