"""Creates the database of trials on a server that keybench started."""

from __future__ import annotations

import psycopg

from keybench.databases.postgresql.ddl import USER


def create_database(admin: psycopg.Connection) -> None:
    """Creates the database of trials with a usual collation: ICU's English if the server has ICU.

    The collation affects only columns that name no collation (`char36-default`).
    """
    icu = admin.execute("SELECT count(*) FROM pg_collation WHERE collname = 'en-US-x-icu'").fetchone() == (1,)
    if icu and admin.info.server_version >= 150_000:
        admin.execute(f"CREATE DATABASE {USER} TEMPLATE template0 LOCALE_PROVIDER icu ICU_LOCALE 'en-US' LOCALE 'C'")
    else:
        admin.execute(f"CREATE DATABASE {USER} TEMPLATE template0")
