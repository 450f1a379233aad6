"""YugabyteDB in a container: one node of the official image, with a password. No daemon has run this yet.

`yugabyted start` reads the password of the user `yugabyte` from YSQL_PASSWORD where authentication is on
(docs.yugabyte.com, "yugabyted"). It listens on the container's own address.
"""

from __future__ import annotations

from dataclasses import replace

from keybench.databases.contract.roles import Address, Settings
from keybench.databases.hosting.container import ContainerServer
from keybench.databases.hosting.recipe import Recipe
from keybench.databases.postgresql import connection
from keybench.databases.postgresql.ddl import SCHEMA

IMAGE = "yugabytedb/yugabyte:2025.2.2.2-b11"
USER = "yugabyte"
LOGIN = (
    'PGPASSWORD="$YSQL_PASSWORD" exec /home/yugabyte/bin/ysqlsh --host="$(hostname)" --username={0} --dbname={0} '
    '--command="SELECT 1"'
)
START_SECONDS = 240.0
"""The first start makes the cluster and the database's catalogue."""


def recipe(settings: Settings) -> Recipe:
    """The container's recipe, with these settings.

    No message means that the login is refused for good: the server answers before the password is set.
    """
    flags = ",".join(f"{name}={value}" for name, value in settings.values.items())
    return Recipe(
        engine="yugabytedb",
        title="YugabyteDB",
        image=IMAGE,
        command=(
            "/home/yugabyte/bin/yugabyted",
            "start",
            "--background=false",
            "--ysql_enable_auth=true",
            f"--tserver_flags={flags}",
        ),
        environment={"YSQL_USER": USER},
        password_variable="YSQL_PASSWORD",  # noqa: S106  # its name
        user=USER,
        port=5433,
        health=("bash", "-c", LOGIN.format(USER)),
        denied=(),
    )


def container_server(settings: Settings) -> ContainerServer:
    """The server, not yet started."""
    return ContainerServer(recipe(settings), settings, prepare, START_SECONDS)


def prepare(address: Address) -> Address:
    """Creates the schema, in the database that the server made."""
    own = replace(address, parameters={**address.parameters, "dbname": USER})
    with connection.connect(own) as admin, connection.server_errors(connection.title(own)):
        admin.execute(f"CREATE SCHEMA IF NOT EXISTS {SCHEMA}")
    return own
