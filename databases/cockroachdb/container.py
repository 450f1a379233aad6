"""CockroachDB in a container: one node of the official image, with TLS and a password. No daemon has run this yet.

The image's entrypoint (build/deploy/cockroach.sh) makes certificates, the database and the user, who is an `admin`.
"""

from __future__ import annotations

from dataclasses import replace

from keybench.databases.cockroachdb.settings import UNSYNCED
from keybench.databases.contract.roles import Address, Settings
from keybench.databases.hosting.container import ContainerServer
from keybench.databases.hosting.recipe import Recipe
from keybench.databases.postgresql import connection
from keybench.databases.postgresql.ddl import SCHEMA, USER

IMAGE = "cockroachdb/cockroach:v25.2.4"
LOGIN = (
    'password="$COCKROACH_PASSWORD"; COCKROACH_URL="postgresql://{0}:$password@127.0.0.1:26257/{0}'
    '?sslmode=verify-full&sslrootcert=/cockroach/certs/ca.crt" exec /cockroach/cockroach sql -e "SELECT 1"'
)
"""A login by the image's own program, whose command line does not have the password."""


def recipe(settings: Settings) -> Recipe:
    """The container's recipe, with these settings.

    No message means that the login is refused for good: the server answers before the user is there.
    """
    flags = (f"--{name}={value}" for name, value in settings.values.items() if name != UNSYNCED)
    return Recipe(
        engine="cockroachdb",
        title="CockroachDB",
        image=IMAGE,
        command=("start-single-node", *flags),
        environment={"COCKROACH_DATABASE": USER, "COCKROACH_USER": USER},
        password_variable="COCKROACH_PASSWORD",  # noqa: S106  # its name
        user=USER,
        port=26257,
        health=("sh", "-c", LOGIN.format(USER)),
        denied=(),
    )


def container_server(settings: Settings) -> ContainerServer:
    """The server, not yet started."""
    return ContainerServer(recipe(settings), settings, prepare)


def prepare(address: Address) -> Address:
    """Creates the schema, in the database that the image made, and chooses whether commits wait for the disk."""
    own = replace(address, parameters={**address.parameters, "dbname": USER, "sslmode": "require"})
    chosen = address.settings.values.get(UNSYNCED, "false") if address.settings else "false"
    title = connection.title(own)
    with connection.connect(own) as admin, connection.server_errors(title):
        admin.execute(f"SET CLUSTER SETTING {UNSYNCED} = {chosen}")
        admin.execute(f"CREATE SCHEMA IF NOT EXISTS {SCHEMA}")
    return own
