"""Reads runs and their environments."""

from __future__ import annotations

from dataclasses import fields
from typing import Final

from sqlalchemy import Connection, select

from keybench.model.names import MOST_BLOCKS
from keybench.results.store import damage, tables
from keybench.results.store.records import Environment, Run

_FIELDS: Final = tuple(field.name for field in fields(Run))


def ids(connection: Connection) -> list[str]:
    """The ids of all runs, oldest first."""
    query = select(tables.run.c.id).order_by(tables.run.c.started, tables.run.c.id)
    return [str(each) for each in connection.execute(query).scalars()]


def load(connection: Connection, run_id: str) -> Run:
    """The run. Raises ValueError if one of its values cannot be that of a run."""
    row = connection.execute(select(tables.run).where(tables.run.c.id == run_id)).one()
    run = Run(**{name: getattr(row, name) for name in _FIELDS})
    for name in ("id", "keybench", "command", "scenario", "profile"):
        damage.text(f"its {name}", getattr(run, name))
    damage.moment("its start", run.started)
    damage.whole("its seed", run.seed, most=10**100)
    damage.whole("its number of blocks", run.blocks, 1, MOST_BLOCKS)
    damage.table("its definition", run.definition)
    damage.table("its machine", run.machine)
    return run


def environments(connection: Connection, run_id: str) -> list[Environment]:
    """The environments of a run, by database and server. Raises ValueError as `load`."""
    table = tables.environment
    query = select(table).where(table.c.run == run_id).order_by(table.c.database, table.c.server)
    return [_environment(*row[1:]) for row in connection.execute(query).all()]


def _environment(database: object, server: object, versions: object, settings: object, cache: object) -> Environment:
    return Environment(
        damage.text("a database", database),
        damage.text("a server", server),
        damage.table("the versions of a server", versions, str),
        damage.table("the settings of a server", settings, str),
        damage.whole("the cache of a server", cache),
    )
