"""Keys that a PostgreSQL server makes itself."""

from __future__ import annotations

from keybench.databases.postgresql.versions import SERVER_UUID_V4, SERVER_UUID_V7
from keybench.errors import ServerError
from keybench.model.names import CONTROL, RANDOM
from keybench.model.table import ServerKeys

SERVER_KEYS = (
    ServerKeys(
        "server-identity", "the server's own sequence", "bigint", "rfc", "GENERATED ALWAYS AS IDENTITY", replica=CONTROL
    ),
    ServerKeys(
        "server-uuid-v4", "gen_random_uuid()", "uuid", "none", "DEFAULT gen_random_uuid()", SERVER_UUID_V4, RANDOM
    ),
    ServerKeys(
        "server-uuidv7",
        "uuidv7(): milliseconds, 12 bits of their fraction",
        "uuid",
        "rfc",
        "DEFAULT uuidv7()",
        SERVER_UUID_V7,
        "postgresql-uuidv7",
    ),
)


def check(keys: ServerKeys, version: int) -> None:
    """Raises ServerError if a server of that version (as libpq numbers it) cannot make these keys."""
    if version < keys.min_version:
        raise ServerError(
            f"{keys.name} keys are made by PostgreSQL {keys.min_version // 10_000} and newer, and this server is "
            f"{version // 10_000}: choose a newer --server, or the client's layout of the same kind."
        )
