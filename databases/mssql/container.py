"""SQL Server in a container, of Microsoft's image: only where its licence was accepted. No daemon has run this yet."""

from __future__ import annotations

from dataclasses import replace

from keybench.databases.contract import Address, Settings
from keybench.databases.hosting.container import Contained
from keybench.databases.hosting.recipe import Recipe
from keybench.databases.mssql import connection, database, licence, settings
from keybench.databases.mssql.ddl import SCHEMA
from keybench.databases.mssql.options import options
from keybench.errors import EnvironmentMissing

IMAGE = "mcr.microsoft.com/mssql/server:2022-latest"
START_SECONDS = 240.0
"""The first start sets up system databases; then the files of keybench's own are made."""


def recipe() -> Recipe:
    """The container. The server has no settings on its command line: `prepare` makes them.

    Nothing is denied for good: before its password is set, the server refuses logins that it takes a second later.
    """
    return Recipe(
        engine="mssql",
        title="SQL Server",
        image=IMAGE,
        command=(),
        environment={"ACCEPT_EULA": "Y", "MSSQL_PID": "Developer"},
        password_variable="MSSQL_SA_PASSWORD",  # noqa: S106  # its name
        user="sa",
        port=1433,
        health=("bash", "-c", "</dev/tcp/127.0.0.1/1433"),
        denied=(),
    )


def contained(chosen: Settings) -> Contained:
    """The server, not yet started; EnvironmentMissing where the licence is not accepted or the memory too little."""
    if not licence.accepted():
        raise EnvironmentMissing(licence.ASKED)
    if chosen.container.memory_bytes < licence.LEAST_MEMORY:
        raise EnvironmentMissing(licence.too_little(chosen.container.memory_bytes))
    return Contained(recipe(), chosen, prepare, START_SECONDS)


def prepare(address: Address) -> Address:
    """Sets the server, and makes the database of the trials with its schema, anew where an attempt was cut short."""
    chosen = options(address.parameters)
    values = address.settings.values if address.settings else {}
    master = connection.connect(address, "master")
    try:
        for statement in settings.statements(address.settings) if address.settings else ():
            master.run(statement)
        if database.is_there(master, SCHEMA):
            database.drop(master)
        database.create(master, chosen, values.get("delayed_durability", "DISABLED"))
    finally:
        master.close()
    own = replace(address, parameters={**address.parameters, **chosen.parameters(), "database": SCHEMA})
    inside = connection.connect(own)
    try:
        database.create_schema(inside)
    finally:
        inside.close()
    return own
