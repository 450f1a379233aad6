"""The schema of trials on somebody's own server: making it, using it, and removing what keybench put there.

The results database can be in the same schema, so a table is known by its shape, not by its place: columns `key` and
perhaps `payload`, autovacuum off, owned by this user. A schema that keybench made says so in its comment. While a run
uses the server it holds an advisory lock, which the server itself gives up when the run dies.
"""

from __future__ import annotations

import psycopg
from psycopg import sql

from keybench.databases.postgresql import connection
from keybench.databases.postgresql.table import SCHEMA

IN_USE = int.from_bytes(b"keytrial")
"""Key of the advisory lock that runs share."""
COMMENT = "made by keybench, which removes it"
_LOCK_TIMEOUT = "3s"

_TABLES = """
SELECT relname, pg_size_pretty(pg_total_relation_size(c.oid)) FROM pg_class c
WHERE relnamespace = to_regnamespace(%s) AND relkind = 'r' AND pg_has_role(relowner, 'USAGE')
  AND 'autovacuum_enabled=false' = ANY (reloptions)
  AND (SELECT array_agg(attname::text ORDER BY attnum) FROM pg_attribute
       WHERE attrelid = c.oid AND attnum > 0 AND NOT attisdropped) IN (ARRAY['key'], ARRAY['key', 'payload'])
ORDER BY relname
"""
_MADE_HERE = """
SELECT count(*) = 1 FROM pg_namespace
WHERE nspname = %s AND obj_description(oid, 'pg_namespace') = %s AND pg_has_role(nspowner, 'USAGE')
"""


def make_schema(admin: psycopg.Connection) -> None:
    """Creates the schema, with the comment that says whose it is."""
    with admin.transaction():
        admin.execute(sql.SQL("CREATE SCHEMA {}").format(sql.Identifier(SCHEMA)))
        admin.execute(sql.SQL("COMMENT ON SCHEMA {} IS {}").format(sql.Identifier(SCHEMA), sql.Literal(COMMENT)))


def use(admin: psycopg.Connection) -> None:
    """Says that a run uses the server, for as long as the connection is open."""
    admin.execute("SELECT pg_advisory_lock_shared(%s)", [IN_USE])


def in_use(admin: psycopg.Connection) -> bool:
    """Whether a run uses the server; if none does, none begins to before the end of the transaction."""
    return admin.execute("SELECT pg_try_advisory_xact_lock(%s)", [IN_USE]).fetchone() != (True,)


def tables(admin: psycopg.Connection) -> list[tuple[str, str]]:
    """The trials' tables: names and sizes."""
    return [(str(name), str(size)) for name, size in admin.execute(_TABLES, [SCHEMA])]


def made_here(admin: psycopg.Connection) -> bool:
    """Whether the schema is there and keybench made it."""
    return admin.execute(_MADE_HERE, [SCHEMA, COMMENT]).fetchone() == (True,)


def remove(admin: psycopg.Connection) -> list[str]:
    """Drops the trials' tables and, where keybench made it and nothing else is in it, the schema; what was dropped.

    Nothing while a run uses the server. ServerError where something of other people's depends on a table: then nothing
    is changed.
    """
    removed = []
    with connection.server_errors(), admin.transaction():
        if in_use(admin):
            return []
        admin.execute(sql.SQL("SET LOCAL lock_timeout = {}").format(sql.Literal(_LOCK_TIMEOUT)))
        for name, _ in tables(admin):
            admin.execute(sql.SQL("DROP TABLE {}").format(sql.Identifier(SCHEMA, name)))
            removed.append(f"table {SCHEMA}.{name}")
        if made_here(admin):
            try:
                with admin.transaction():  # a savepoint: other things in the schema keep it
                    admin.execute(sql.SQL("DROP SCHEMA {}").format(sql.Identifier(SCHEMA)))
                removed.append(f"schema {SCHEMA}")
            except psycopg.errors.DependentObjectsStillExist:
                pass
    return removed
