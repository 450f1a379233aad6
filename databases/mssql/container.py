"""SQL Server in a container of Microsoft's image, only where its licence was accepted. No daemon has run this yet.

The licence is accepted by the person who runs it, never by keybench: `--accept-eula mssql` of the runner, or
`ACCEPT_EULA=Y`, which is what Microsoft's image itself asks for.
"""

import os
import platform
from contextlib import closing
from dataclasses import replace

import psutil

from keybench.databases.contract.roles import Address, Settings
from keybench.databases.hosting.container import ContainerServer, Recipe
from keybench.databases.mssql import settings
from keybench.databases.mssql.connection import connect
from keybench.databases.mssql.ddl import SCHEMA
from keybench.databases.mssql.owned import check_version, create_database, create_schema
from keybench.databases.mssql.settings import options
from keybench.errors import EnvironmentMissing

IMAGE = "mcr.microsoft.com/mssql/server:2022-latest"
START_SECONDS = 240.0
"""The first start sets up system databases; then keybench's own files are made."""

TERMS = "https://go.microsoft.com/fwlink/?linkid=857698"
ACCEPTED = "KEYBENCH_ACCEPT_EULA"
"""Engines whose licence was accepted, comma-separated: set by `--accept-eula`."""

LICENCE = (
    f"SQL Server's container needs you to accept Microsoft's licence terms ({TERMS}): read them, then add "
    "--accept-eula mssql or set ACCEPT_EULA=Y."
)

LOGIN = (
    'tools=(/opt/mssql-tools*/bin/sqlcmd); SQLCMDPASSWORD="$MSSQL_SA_PASSWORD" '
    'exec "${tools[-1]}" -S 127.0.0.1 -U sa -C -b -Q "SELECT 1"'
)
"""A login by the image's own tools, whose folder has another name in older images."""

LEAST_MEMORY = 2_000_000_000
"""Bytes without which the server refuses to start ("at least 2000 megabytes of memory")."""


def accepted() -> bool:
    """Whether the person who runs this has accepted the licence terms."""
    engines = [name.strip() for name in os.environ.get(ACCEPTED, "").split(",")]
    return "mssql" in engines or os.environ.get("ACCEPT_EULA", "").upper() in {"Y", "YES", "1", "TRUE"}


def missing() -> str:
    """Why the container cannot be started on this machine, Docker apart; empty where it can."""
    if (machine := platform.machine().lower()) not in {"x86_64", "amd64"}:
        return (
            f"Microsoft's image of SQL Server is made for amd64 alone, and this machine is {machine}: start it where "
            "that is emulated or on another machine, and give its URL as --server mssql://…"
        )
    if (memory := psutil.virtual_memory().total) < LEAST_MEMORY:
        return too_little(memory)
    return "" if accepted() else LICENCE


def too_little(memory: int) -> str:
    """The message where a machine or a container has too little memory."""
    return (
        f"SQL Server refuses to start with less than 2,000 MB of memory, and there are {memory // 1_000_000:,} MB: "
        "give it more, or use a server elsewhere by --server mssql://…"
    )


def container_server(chosen: Settings) -> ContainerServer:
    """The server, not yet started; EnvironmentMissing where the licence is not accepted or the memory too little. It
    has no settings on its command line: `prepare` makes them."""
    if not accepted():
        raise EnvironmentMissing(LICENCE)
    if chosen.container.memory_bytes < LEAST_MEMORY:
        raise EnvironmentMissing(too_little(chosen.container.memory_bytes))
    recipe = Recipe(
        engine="mssql",
        title="SQL Server",
        image=IMAGE,
        environment={"ACCEPT_EULA": "Y", "MSSQL_PID": "Developer"},
        password_variable="MSSQL_SA_PASSWORD",  # noqa: S106  # its name
        user="sa",
        port=1433,
        health=("bash", "-c", LOGIN),
    )  # no text in `denied`: before its password is set, the server refuses logins that it accepts a second later
    return ContainerServer(recipe, chosen, prepare, START_SECONDS)


def prepare(address: Address) -> Address:
    """Configures the server, and makes the database of the trials, in place of an unfinished one, with its schema."""
    assert address.settings
    chosen = options({**address.parameters, **address.settings.chosen})
    with closing(connect(address, "master")) as master:
        check_version(master, "the SQL Server of this image")
        for statement in settings.statements(address.settings):
            master.run(statement)
        create_database(master, chosen, address.settings.values["delayed_durability"])
    trials = replace(address, parameters={**address.parameters, **chosen, "database": SCHEMA})
    with closing(connect(trials)) as inside:
        create_schema(inside)
    return trials
