"""The columns that `list` and `show` know: what people call them, the order in which they sort, and what they are."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:  # numpy comes with them, and --help needs this module
    from keybench.model.keys import Order

ORDERS: Final[tuple[Order, ...]] = ("rfc", "net", "mssql", "mysql-swap", "mariadb")

BY_NAME: Final[Mapping[str, Order]] = {
    "postgresql": "rfc",
    "mysql": "rfc",
    "sqlite": "rfc",
    "text": "rfc",
    "net": "net",
    "oracle": "net",
    "mssql": "mssql",
    "mysql-swap": "mysql-swap",
    "mariadb": "mariadb",
}
"""The order of a column by the name that people use; the orders' own names are accepted too."""

DESCRIPTIONS: Final[Mapping[Order, str]] = {
    "rfc": "PostgreSQL uuid; CHAR(36), BINARY(16), RAW(16) and BLOB with the bytes of the text",
    "net": "RAW(16), BINARY(16) and BLOB with the bytes that .NET's clients bind",
    "mssql": "SQL Server uniqueidentifier; binary16-mssql",
    "mysql-swap": "MySQL BINARY(16) filled by UUID_TO_BIN(u, 1)",
    "mariadb": "MariaDB uuid",
}
"""The columns that sort by each order."""

HEADINGS: Final[Mapping[Order, tuple[str, str]]] = {
    "rfc": ("uuid,", "text"),
    "net": (".NET", "bytes"),
    "mssql": ("SQL", "Server"),
    "mysql-swap": ("MySQL", "swap"),
    "mariadb": ("Maria", "uuid"),
}
"""The headings of the list, in two lines."""
