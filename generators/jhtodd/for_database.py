"""The layout that suits a database, chosen by its URL, as the article on jhtodd's SequentialGuid asks its reader to do.

The rule is the article's: the milliseconds go where the database's usual column for GUIDs compares first.

SQL Server   uniqueidentifier sorts by the end                                            jhtodd-end
MySQL        CHAR(36) and BINARY(16) sort as the text does                                jhtodd-string
PostgreSQL   uuid sorts as the text does                                                  jhtodd-string
Oracle       RAW(16) sorts by the bytes that .NET's clients bind                          jhtodd-binary
SQLite       sorts by the text, with BinaryGUID=True in the URL by .NET's bytes           jhtodd-string, jhtodd-binary
MariaDB      uuid refuses a quarter of jhtodd's GUIDs and sorts version 7 as text         uuid-v7

No connection is made and no driver is imported: only the text of the URL counts.
"""

from __future__ import annotations

import re
from typing import Final

from keybench.errors import UsageError, unknown_name
from keybench.generators.core.layout import Layout, layout

_DIALECTS: Final = {
    "mssql": "mssql",
    "sqlserver": "mssql",
    "mysql": "mysql",
    "mariadb": "mariadb",
    "postgresql": "postgresql",
    "postgres": "postgresql",
    "oracle": "oracle",
    "sqlite": "sqlite",
}

_LAYOUTS: Final = {
    "mssql": "jhtodd-end",
    "mysql": "jhtodd-string",
    "mariadb": "uuid-v7",
    "postgresql": "jhtodd-string",
    "oracle": "jhtodd-binary",
    "sqlite": "jhtodd-string",
}

_BINARY_GUID: Final = re.compile(r"[?&;,]\s*binaryguid\s*=\s*(true|yes|on|1)\s*(?=[&;,#]|$)", re.IGNORECASE)


def for_database(url_or_dialect: object) -> Layout:
    """The layout for a database, given as a URL (SQLAlchemy's, as text or object, or JDBC's) or a dialect's name.

    `for_database("postgresql+psycopg://me@db/shop").name` is `jhtodd-string`. Raises UsageError for an unknown dialect;
    the message shows only the dialect, never the rest of the URL.
    """
    text = str(url_or_dialect).strip()
    dialect = re.split(r"[+:]", text.lower().removeprefix("jdbc:"), maxsplit=1)[0]
    if not re.fullmatch(r"[a-z][a-z0-9_-]*", dialect):
        raise UsageError(
            "name a database by a dialect, such as postgresql, or by a URL, such as postgresql://me@db/shop."
        )
    try:
        known = _DIALECTS[dialect]
    except KeyError:
        raise unknown_name("dialect", dialect, _DIALECTS) from None
    if known == "sqlite" and _BINARY_GUID.search(text):
        return layout("jhtodd-binary")
    return layout(_LAYOUTS[known])
