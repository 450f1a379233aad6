"""PostgreSQL in a container, from Docker's official image."""

from __future__ import annotations

from dataclasses import replace

from keybench.databases.contract.roles import Address, Settings
from keybench.databases.hosting.container import ContainerServer
from keybench.databases.hosting.recipe import Recipe
from keybench.databases.postgresql import connection
from keybench.databases.postgresql.ddl import SCHEMA, USER

IMAGE = "postgres:18"
LOGIN = 'PGPASSWORD="$POSTGRES_PASSWORD" exec psql --host="$(hostname)" --username={} --dbname=postgres -c "SELECT 1"'
"""A login over the container's own address: the image asks for no password on the loopback."""

EXTENSIONS = ("pageinspect", "pg_walinspect")
"""The probes use these to read index pages and the log, because they cannot read the container's files."""


def recipe(settings: Settings) -> Recipe:
    """The container's recipe, with these settings."""
    return Recipe(
        engine="postgresql",
        title="PostgreSQL",
        image=IMAGE,
        command=("postgres", *(f"--{name}={value}" for name, value in settings.values.items())),
        environment={
            "POSTGRES_USER": USER,
            "POSTGRES_DB": "postgres",
            "POSTGRES_INITDB_ARGS": "--encoding=UTF8 --locale=C",
        },
        password_variable="POSTGRES_PASSWORD",  # noqa: S106  # its name
        user=USER,
        port=5432,
        health=("sh", "-c", LOGIN.format(USER)),
        denied=("password authentication failed", "no pg_hba.conf entry"),
    )


def container_server(settings: Settings) -> ContainerServer:
    """The server, not yet started."""
    return ContainerServer(recipe(settings), settings, prepare)


def prepare(address: Address) -> Address:
    """Creates the database of trials, its schema, and those of `EXTENSIONS` that the image has."""
    with connection.connect(_of(address, "postgres")) as admin, connection.server_errors():
        if not admin.execute("SELECT 1 FROM pg_database WHERE datname = %s", [USER]).fetchone():
            connection.create_database(admin)
    trials = _of(address, USER)
    with connection.connect(trials) as admin, connection.server_errors():
        admin.execute(f"CREATE SCHEMA IF NOT EXISTS {SCHEMA}")
        for (name,) in admin.execute(
            "SELECT name FROM pg_available_extensions WHERE name = ANY(%s)", [list(EXTENSIONS)]
        ):
            admin.execute(f"CREATE EXTENSION IF NOT EXISTS {name}")
    return trials


def _of(address: Address, database: str) -> Address:
    return replace(address, parameters={**address.parameters, "dbname": database})
