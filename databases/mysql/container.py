"""MariaDB or MySQL in a container of Docker's official images.

Docker Hub's own have not been run, only images that `make test-containers` builds to behave as these are documented.
"""

from __future__ import annotations

from dataclasses import replace

from keybench.databases.contract.roles import Address, Settings
from keybench.databases.hosting.container import ContainerServer, Recipe
from keybench.databases.mysql import connection
from keybench.databases.mysql.ddl import SCHEMA
from keybench.databases.mysql.flavour import Flavour, flavour_named, option

_OWN_SETTINGS = {"innodb_monitor_enable": "module_index"}
_SWITCHES = ("--skip-log-bin", "--skip-name-resolve")


def recipe(flavour: Flavour, settings: Settings) -> Recipe:
    """The container with these settings."""
    return Recipe(
        engine=flavour.name,
        title=flavour.title,
        image=flavour.image,
        command=(*(option(name, value) for name, value in {**settings.values, **_OWN_SETTINGS}.items()), *_SWITCHES),
        environment={},
        password_variable=f"{flavour.name.upper()}_ROOT_PASSWORD",
        user="root",
        port=3306,
        health=flavour.health,
        denied=("Access denied",),
    )


def container_server(flavour: Flavour, settings: Settings) -> ContainerServer:
    """The server, not yet started."""
    return ContainerServer(recipe(flavour, settings), settings, prepare)


def prepare(address: Address) -> Address:
    """Makes the database of the trials."""
    with connection.connect(address) as admin, connection.server_errors(flavour_named(address.engine).title):
        admin.run(f"CREATE DATABASE IF NOT EXISTS {SCHEMA}")
    return replace(address, parameters={**address.parameters, "database": SCHEMA})
