"""The commands `keybench list databases` and `keybench list sql`."""

import sys
from collections.abc import Iterator
from textwrap import wrap
from typing import Annotated, Any

import typer
from rich.table import Table

from keybench import cli
from keybench.databases import registry
from keybench.databases.contract.engine import Engine


def list_databases(
    name: Annotated[str, typer.Argument(metavar="[ENGINE]", help="One engine; else all.")] = "",
    as_json: cli.AsJson = False,
) -> None:
    """Engines, the servers that can be started here, their settings, and the key columns with their order.

    Example:

      keybench list databases postgresql
    """
    engines = [registry.engine(name)] if name else list(registry.engines().values())
    if as_json:
        cli.print_json([_record(engine) for engine in engines])
        return
    console = cli.console()
    for number, engine in enumerate(engines):
        if number:
            console.print()
        for line in _lines(engine, console.width):
            console.print(line, soft_wrap=True)
        console.print(_columns(engine))


def sql(
    name: Annotated[str, typer.Argument(metavar="ENGINE", help="A database engine.")],
    function: Annotated[str, typer.Argument(metavar="[FUNCTION]", help="One function; else all.")] = "",
) -> None:
    """SQL that creates functions which make and read keys in the database itself.

    Examples:

      keybench list sql postgresql new_comb

      keybench list sql postgresql | psql my_database
    """
    sys.stdout.write(registry.script(registry.engine(name), function))


def _record(engine: Engine) -> dict[str, Any]:
    """What the list says of an engine, as plain values for `--json`."""
    return {
        "name": engine.name,
        "title": engine.title,
        "servers": {kind: {"ready": not (why := engine.missing(kind)), "missing": why} for kind in engine.servers},
        "url_schemes": list(engine.url_schemes),
        "server_keys": [key_layout.name for key_layout in engine.server_keys],
        "functions": list(engine.functions()),
        "settings": [
            {"name": option.name, "default": str(option.default), "meaning": option.meaning, "choices": option.choices}
            for option in engine.settable
        ],
        "columns": [
            {
                "name": column.name,
                "type": column.sql_type,
                "sorts_by": column.order,
                "keys": sorted(column.kinds),
                "stands_in_for": column.stands_in_for,
            }
            for column in engine.columns
        ],
    }


def _lines(engine: Engine, width: int) -> Iterator[str]:
    """What the list says of an engine beside its columns, for people: its name, then indented paragraphs."""
    yield f"{engine.title} ({engine.name})"
    paragraphs = [engine.caveat] if engine.caveat else []
    paragraphs += [f"server {kind}: {engine.missing(kind) or 'can be started here'}" for kind in engine.servers]
    if engine.url_schemes:
        paragraphs.append(f"URLs of your own servers: {engine.url_schemes[0]}://…")
    if makes := ", ".join(key_layout.name for key_layout in engine.server_keys):
        paragraphs.append(f"keys of its own: {makes}")
    if names := ", ".join(engine.functions()):
        paragraphs.append(f"functions: {names} (keybench list sql {engine.name})")
    for setting in engine.settable:
        paragraphs.append(f"--set {setting.name}={setting.default}: {setting.meaning}; {setting.choices}")
    for text in paragraphs:
        yield from wrap(text, width, initial_indent="  ", subsequent_indent="    ", break_on_hyphens=False)


def _columns(engine: Engine) -> Table:
    """The engine's key columns, one in each row: SQL type, byte order, kinds of keys."""
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0))
    for heading in ("  column", "type", "sorts by", "keys", ""):
        table.add_column(heading, overflow="fold")
    for column in engine.columns:
        imitates = f"as {column.stands_in_for}; only where asked for" if column.stands_in_for else ""
        kinds = ", ".join(sorted(column.kinds))
        table.add_row(f"  {column.name}", column.sql_type, column.order, kinds, imitates)
    return table
