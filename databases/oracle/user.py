"""The user of the trials with the rights that trials need, and larger files for servers that keybench starts.

Oracle Free's images come with redo logs of 10 or 20 MB and data files that grow by 10 MB: a load would measure log
switches and file growth. On a user's own server the administrator runs `GRANTS` once; nothing else is changed there.
"""

from __future__ import annotations

USER = "KEYBENCH"
TABLESPACE = "KEYBENCH"

GRANTS = (
    f"GRANT CREATE SESSION, CREATE TABLE, CREATE SEQUENCE TO {USER}",
    f"GRANT READ ON sys.v_$mystat TO {USER}",
    f"GRANT READ ON sys.v_$statname TO {USER}",
    f"GRANT READ ON sys.v_$parameter TO {USER}",
    f"GRANT READ ON sys.v_$log TO {USER}",
)
"""On the views V_$…, not on their synonyms; by SYS, or a user with the right to grant them."""

LOG_MEGABYTES = 1024
_GROUPS = (11, 12, 13)

REDO_LOGS = tuple(f"ALTER DATABASE ADD LOGFILE GROUP {group} SIZE {LOG_MEGABYTES}M" for group in _GROUPS)
"""In the container database's root."""
LARGE_LOGS = f"SELECT group# FROM v$log WHERE group# IN ({', '.join(map(str, _GROUPS))})"  # noqa: S608
SMALL_LOGS = f"SELECT group# FROM v$log WHERE group# NOT IN ({', '.join(map(str, _GROUPS))}) ORDER BY group#"  # noqa: S608
SMALL_LOGS_IN_USE = SMALL_LOGS.replace(" ORDER BY", " AND status IN ('CURRENT', 'ACTIVE') ORDER BY")
SWITCH = "ALTER SYSTEM SWITCH LOGFILE"
CHECKPOINT = "ALTER SYSTEM CHECKPOINT GLOBAL"
EXISTS = f"SELECT username FROM all_users WHERE username = '{USER}'"  # noqa: S608
PASSWORD = "{password}"  # noqa: S105  # stands for it in a statement

DURABILITY = {"durable": "FORCE_WAIT", "fast": "NOWAIT"}
"""COMMIT_WAIT of the database by profile: `fast` acknowledges commits before the redo is on disk."""


def tablespace() -> tuple[str, ...]:
    """In the pluggable database: a tablespace whose files need not grow while rows are loaded, and undo likewise."""
    return (
        f"CREATE BIGFILE TABLESPACE {TABLESPACE} DATAFILE 'keybench.dbf' SIZE 2G REUSE AUTOEXTEND ON NEXT 256M",
        f"CREATE USER {USER} IDENTIFIED BY {{password}} DEFAULT TABLESPACE {TABLESPACE} "
        f"QUOTA UNLIMITED ON {TABLESPACE}",
        *GRANTS,
    )
