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
from keybench.databases.registry import engine, engines


def list_databases(
    name: Annotated[str, typer.Argument(metavar="[ENGINE]", help="One engine; else all.")] = "",
    as_json: cli.AsJson = False,
) -> None:
    """Engines, the servers that can be started here, their settings, and the key columns with their order.

    Example:

      keybench list databases postgresql
    """
    listed = [engine(name)] if name else list(engines().values())
    if as_json:
        cli.print_json([_record(on) for on in listed])
        return
    console = cli.console()
    for number, on in enumerate(listed):
        if number:
            console.print()
        for line in _lines(on, console.width):
            console.print(line, soft_wrap=True)
        console.print(_columns(on))


def sql(
    name: Annotated[str, typer.Argument(metavar="ENGINE", help="A database engine.")],
    function: Annotated[str, typer.Argument(metavar="[FUNCTION]", help="One function; else all.")] = "",
) -> None:
    """SQL that creates functions which make and read keys in the database itself.

    Examples:

      keybench list sql postgresql new_comb

      keybench list sql postgresql | psql my_database
    """
    sys.stdout.write(registry.script(engine(name), function))


def _record(on: Engine) -> dict[str, Any]:
    """What the list says of an engine, as plain values."""
    return {
        "name": on.name,
        "title": on.title,
        "servers": {kind: {"ready": not (why := on.missing(kind)), "missing": why} for kind in on.servers},
        "url_schemes": list(on.url_schemes),
        "server_keys": [made.name for made in on.server_keys],
        "functions": list(on.functions()),
        "settings": [
            {"name": one.name, "default": str(one.default), "meaning": one.meaning, "choices": one.choices}
            for one in on.settable
        ],
        "columns": [
            {
                "name": column.name,
                "type": column.sql_type,
                "sorts_by": column.order,
                "keys": sorted(column.kinds),
                "stands_in_for": column.stands_in_for,
            }
            for column in on.columns
        ],
    }


def _lines(on: Engine, width: int) -> Iterator[str]:
    """What the list says of an engine beside its columns, for people: its name, then indented paragraphs."""
    yield f"{on.title} ({on.name})"
    paragraphs = [on.caveat] if on.caveat else []
    paragraphs += [f"server {kind}: {on.missing(kind) or 'can be started here'}" for kind in on.servers]
    if on.url_schemes:
        paragraphs.append(f"URLs of your own servers: {on.url_schemes[0]}://…")
    if makes := ", ".join(made.name for made in on.server_keys):
        paragraphs.append(f"keys of its own: {makes}")
    if names := ", ".join(on.functions()):
        paragraphs.append(f"functions: {names} (keybench list sql {on.name})")
    for setting in on.settable:
        paragraphs.append(f"--set {setting.name}={setting.default}: {setting.meaning}; {setting.choices}")
    for text in paragraphs:
        yield from wrap(text, width, initial_indent="  ", subsequent_indent="    ", break_on_hyphens=False)


def _columns(on: Engine) -> Table:
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0))
    for heading in ("  column", "type", "sorts by", "keys", ""):
        table.add_column(heading, overflow="fold")
    for column in on.columns:
        imitates = f"as {column.stands_in_for}; only where asked for" if column.stands_in_for else ""
        kinds = ", ".join(sorted(column.kinds))
        table.add_row(f"  {column.name}", column.sql_type, column.order, kinds, imitates)
    return table
