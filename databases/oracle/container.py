"""Oracle Database Free in a container, of G. Venzl's image. No daemon has run this yet.

Oracle Free's images come with redo logs of 10 or 20 MB and data files that grow by 10 MB: a load would measure log
switches and file growth. So the logs are enlarged, and the tablespace of the trials is large from the beginning.
"""

from contextlib import closing
from dataclasses import replace

from keybench.databases.contract.roles import Address, Settings
from keybench.databases.hosting.container import ContainerServer, Recipe
from keybench.databases.oracle import settings
from keybench.databases.oracle.admin import GRANTS, USER
from keybench.databases.oracle.connection import OracleConnection, connect
from keybench.databases.oracle.settings import options

IMAGE = "gvenzl/oracle-free:23-slim-faststart"
ROOT, PLUGGABLE = "FREE", "FREEPDB1"
START_SECONDS = 400.0
"""On slow disks, two minutes were reported not to be enough."""

LOGIN = (
    r"""printf "connect SYSTEM/\"%s\"@//127.0.0.1:1521/FREEPDB1\nSELECT 'log' || 'ins' FROM dual;\n" """
    '"$ORACLE_PASSWORD" | sqlplus -S -L /nolog | grep -q "^logins"'
)
"""A login over TCP. sqlplus ends with 0 also where it was refused, so its output decides."""

_SWITCHES = 8  # the most switches of the redo log that are tried until the small logs are idle
_GROUPS = (11, 12, 13)
REDO_LOGS = tuple(f"ALTER DATABASE ADD LOGFILE GROUP {group} SIZE 1024M" for group in _GROUPS)
"""In the container database's root."""
_LISTED = f"({', '.join(map(str, _GROUPS))})"
LARGE_LOGS = f"SELECT group# FROM v$log WHERE group# IN {_LISTED}"  # noqa: S608
SMALL_LOGS = f"SELECT group# FROM v$log WHERE group# NOT IN {_LISTED} ORDER BY group#"  # noqa: S608
SMALL_LOGS_IN_USE = SMALL_LOGS.replace(" ORDER BY", " AND status IN ('CURRENT', 'ACTIVE') ORDER BY")
USER_EXISTS = f"SELECT username FROM all_users WHERE username = '{USER}'"  # noqa: S608


def container_server(chosen: Settings) -> ContainerServer:
    """The server, not yet started. `prepare` makes its settings."""
    recipe = Recipe(
        engine="oracle",
        title="Oracle",
        image=IMAGE,
        password_variable="ORACLE_PASSWORD",  # noqa: S106  # its name
        user="SYSTEM",
        port=1521,
        health=("bash", "-c", LOGIN),
    )  # no text in `denied`: passwords are set while it starts, so no refused login is final
    return ContainerServer(recipe, chosen, prepare, START_SECONDS)


def prepare(address: Address) -> Address:
    """Enlarges the redo logs, and makes a tablespace and the user of the trials, with only the rights it needs."""
    assert address.settings
    assert address.secret
    as_sys = replace(address, parameters={**address.parameters, "user": "SYS"})
    with closing(connect(as_sys, ROOT, administer=True)) as root:
        enlarge(root)
        for statement in settings.statements(address.settings):
            root.run(statement)
    with closing(connect(as_sys, PLUGGABLE, administer=True)) as inside:
        _make_user(inside, address.secret.reveal())
    chosen = options(address.settings.chosen)
    return replace(address, parameters={**address.parameters, **chosen, "user": USER, "service": PLUGGABLE})


def enlarge(root: OracleConnection) -> None:
    """Adds large redo logs where there are none, and drops the small ones when the server has finished with them."""
    if not root.rows(LARGE_LOGS):
        for statement in REDO_LOGS:
            root.run(statement)
    for _ in range(_SWITCHES):
        if not root.rows(SMALL_LOGS_IN_USE):
            break
        root.run("ALTER SYSTEM SWITCH LOGFILE")
        root.run("ALTER SYSTEM CHECKPOINT GLOBAL")
    for (group,) in root.rows(SMALL_LOGS):
        root.run(f"ALTER DATABASE DROP LOGFILE GROUP {int(group)}")


def _make_user(inside: OracleConnection, password: str) -> None:
    """Makes the user, and a tablespace whose files need not grow during loads, in the pluggable database."""
    if inside.rows(USER_EXISTS):
        inside.run(f"DROP USER {USER} CASCADE")  # left by an unfinished attempt
        inside.run(f"DROP TABLESPACE {USER} INCLUDING CONTENTS AND DATAFILES")
    inside.run(f"CREATE BIGFILE TABLESPACE {USER} DATAFILE 'keybench.dbf' SIZE 2G REUSE AUTOEXTEND ON NEXT 256M")
    quoted = '"' + password.replace('"', "") + '"'
    inside.run(f"CREATE USER {USER} IDENTIFIED BY {quoted} DEFAULT TABLESPACE {USER} QUOTA UNLIMITED ON {USER}")
    for grant in GRANTS:
        inside.run(grant)
