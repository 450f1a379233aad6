"""Oracle Database Free in a container, of G. Venzl's image. No daemon has run this yet."""

from __future__ import annotations

from dataclasses import replace

from keybench.databases.contract.roles import Address, Settings
from keybench.databases.hosting.container import ContainerServer
from keybench.databases.hosting.recipe import Recipe
from keybench.databases.oracle import connection, settings, user
from keybench.databases.oracle.connection import Connection
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

_SWITCHES = 8


def recipe() -> Recipe:
    """The container. `prepare` makes its settings. Passwords are set while it starts, so no refused login is final."""
    return Recipe(
        engine="oracle",
        title="Oracle",
        image=IMAGE,
        command=(),
        environment={},
        password_variable="ORACLE_PASSWORD",  # noqa: S106  # its name
        user="SYSTEM",
        port=1521,
        health=("bash", "-c", LOGIN),
        denied=(),
    )


def container_server(chosen: Settings) -> ContainerServer:
    """The server, not yet started."""
    return ContainerServer(recipe(), chosen, prepare, START_SECONDS)


def prepare(address: Address) -> Address:
    """Enlarges the redo logs, and makes a tablespace and the user of the trials, with only the rights it needs."""
    as_sys = replace(address, parameters={**address.parameters, "user": "SYS"})
    root = connection.connect(as_sys, ROOT, administer=True)
    try:
        enlarge(root)
        for statement in settings.statements(address.settings) if address.settings else ():
            root.run(statement)
    finally:
        root.close()
    inside = connection.connect(as_sys, PLUGGABLE, administer=True)
    try:
        _make_user(inside, address)
    finally:
        inside.close()
    chosen = options(address.settings.chosen if address.settings else {})
    own = {**address.parameters, **chosen.parameters(), "user": user.USER, "service": PLUGGABLE}
    return replace(address, parameters=own)


def enlarge(root: Connection) -> None:
    """Adds large redo logs where there are none, and drops the small ones when the server has finished with them."""
    if not root.rows(user.LARGE_LOGS):
        for statement in user.REDO_LOGS:
            root.run(statement)
    for _ in range(_SWITCHES):
        if not root.rows(user.SMALL_LOGS_IN_USE):
            break
        root.run(user.SWITCH)
        root.run(user.CHECKPOINT)
    for (group,) in root.rows(user.SMALL_LOGS):
        root.run(f"ALTER DATABASE DROP LOGFILE GROUP {int(group)}")


def _make_user(inside: Connection, address: Address) -> None:
    if inside.rows(user.EXISTS):
        inside.run(f"DROP USER {user.USER} CASCADE")  # left by an unfinished attempt
        inside.run(f"DROP TABLESPACE {user.TABLESPACE} INCLUDING CONTENTS AND DATAFILES")
    password = address.secret.reveal() if address.secret else ""
    for statement in user.tablespace():
        inside.run(statement.replace(user.PASSWORD, '"' + password.replace('"', "") + '"'))
