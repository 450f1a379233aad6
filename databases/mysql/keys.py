"""Keys that MySQL and MariaDB servers make themselves: AUTO_INCREMENT, and GUIDs as the column's default.

Versions are written as by `flavour.number`. The two flavours number their versions differently, so each has its own
list.

UUID() as bytes or text begins with the low 32 bits of its time. They ascend for 429.5 s (2³² × 100 ns) and start again:
in a shorter load that crosses no such moment they ascend, although over a month they do not.
"""

from __future__ import annotations

from keybench.databases.mysql.flavour import (
    EXPRESSIONS_AS_DEFAULTS,
    UUID_FUNCTIONS,
    UUID_TO_BIN,
    UUID_TYPE,
    Flavour,
    number,
    shown,
)
from keybench.errors import ServerError, UsageError
from keybench.model.names import CONTROL, RANDOM
from keybench.model.table import ServerKeys, Table

_BYTES = "UNHEX(REPLACE(UUID(), '-', ''))"

_IDENTITY = ServerKeys("server-identity", "AUTO_INCREMENT", "bigint", "rfc", "AUTO_INCREMENT", replica=CONTROL)

_V1 = "mariadb-uuid-v1"

MARIADB = (
    _IDENTITY,
    # UUID() ascends in a `uuid` column alone, which compares the fields of version 1 from the last to the first.
    ServerKeys("server-uuid-v1", "UUID() in a uuid column", "uuid", "mariadb", "DEFAULT UUID()", UUID_TYPE, _V1),
    ServerKeys(
        "server-uuid-v1-binary",
        "UUID() as 16 bytes: starts again every 7 minutes",
        "binary16",
        "none",
        f"DEFAULT ({_BYTES})",
        EXPRESSIONS_AS_DEFAULTS,
        _V1,
    ),
    ServerKeys(
        "server-uuid-v1-text",
        "UUID() as text: starts again every 7 minutes",
        "char36",
        "none",
        "DEFAULT (UUID())",
        EXPRESSIONS_AS_DEFAULTS,
        _V1,
    ),
    ServerKeys("server-uuid-v4", "UUID_v4()", "uuid", "none", "DEFAULT UUID_v4()", UUID_FUNCTIONS, RANDOM),
    ServerKeys("server-uuidv7", "UUID_v7()", "uuid", "mariadb", "DEFAULT UUID_v7()", UUID_FUNCTIONS, "mariadb-uuid-v7"),
)
"""MariaDB has expressions as defaults from 10.2.1 on, the type `uuid` from 10.7 on."""

MYSQL = (
    _IDENTITY,
    ServerKeys(
        "server-uuid-v1-swapped",
        "UUID_TO_BIN(UUID(), 1): the time's high bits first",
        "binary16-swapped",
        "mysql-swap",
        "DEFAULT (UUID_TO_BIN(UUID(), 1))",
        UUID_TO_BIN,
        "mysql-uuid",
    ),
    ServerKeys(
        "server-uuid-v1-binary",
        "UUID_TO_BIN(UUID()): starts again every 7 minutes",
        "binary16",
        "none",
        "DEFAULT (UUID_TO_BIN(UUID()))",
        UUID_TO_BIN,
        "mysql-uuid",
    ),
    ServerKeys(
        "server-uuid-v1-text",
        "UUID() as text: starts again every 7 minutes",
        "char36",
        "none",
        "DEFAULT (UUID())",
        UUID_TO_BIN,
        "mysql-uuid",
    ),
)
"""MySQL has expressions as defaults from 8.0.13 on."""


def check(flavour: Flavour, table: Table, version: str) -> None:
    """ServerError where a server of that version cannot make the table's keys; UsageError where no server could."""
    keys = table.server_keys
    if keys is None:
        return
    if keys.declaration == "AUTO_INCREMENT" and table.key != "clustered":
        raise UsageError(
            f"{flavour.title} makes {keys.name} keys only where the key is the table's primary key, because a table "
            'has only one AUTO_INCREMENT: choose a scenario whose table has key = "clustered".'
        )
    if number(version) < keys.min_version:
        raise ServerError(
            f"{keys.name} keys are made by {flavour.title} {shown(keys.min_version)} and newer, and this server is "
            f"{shown(number(version))}: choose a newer --server, or the client's layout of the same kind."
        )
