"""The command `keybench generators`: layouts at hand."""

from __future__ import annotations

import sys
from dataclasses import replace
from datetime import datetime
from typing import Annotated, Final

import numpy as np
import typer
from rich.console import Console

from keybench import cli
from keybench.errors import UsageError, unknown_name
from keybench.generators.commands import screens
from keybench.generators.commands.ascent import ORDERS, ascents
from keybench.generators.commands.readings import Reading, parse, read, readings, shown
from keybench.generators.core.clock import Clock, SystemClock, VirtualClock, ticks_of
from keybench.generators.core.entropy import AesEntropy
from keybench.generators.core.layout import Layout, layout, layouts
from keybench.generators.core.process import Process
from keybench.generators.core.single import objects
from keybench.model.byteorder import PERMUTATIONS, text36
from keybench.model.keys import Keys, Order

app = cli.application(
    name="generators", help="Key layouts: choose one, look at its bits, make keys, read a key.", no_args_is_help=True
)

_CHUNK: Final = 16_384
_ON: Final[dict[str, Order]] = {
    "postgresql": "rfc",
    "mysql": "rfc",
    "sqlite": "rfc",
    "text": "rfc",
    "net": "net",
    "oracle": "net",
    "mssql": "mssql",
    "mysql-swap": "mysql-swap",
    "mariadb": "mariadb",
}
"""What people call the columns, beside the orders themselves."""


@app.command("list", epilog=cli.EXIT_CODES)
def list_layouts(
    on: Annotated[
        str, typer.Option(help=f"Only those that ascend there: {', '.join(_ON)}, or an order of columns.")
    ] = "",
    kind: Annotated[str, typer.Option(help="Only keys of that kind: uuid, bytes, text, int.")] = "",
) -> None:
    """Every layout: what it is, and in which columns its keys ascend.

    Example:

      keybench generators list --on mssql
    """
    known = list({known.name: known for known in layouts().values()}.values())
    if on:
        order = _ON.get(on, on)
        if order not in ORDERS:
            raise unknown_name("column", on, {*_ON, *ORDERS})
        known = [
            each for each in known if (found := ascents(each).get(order)) and found.within in {"strictly", "by time"}
        ]
    if kind:
        if kind not in (kinds := {each.kind for each in layouts().values()}):
            raise unknown_name("kind", kind, kinds)
        known = [each for each in known if each.kind == kind]
    console = _console()
    for line in screens.listed(known, console.width):
        console.print(line)
    console.print()
    for line in screens.legend(console.width):
        console.print(line)
    console.print("\n`keybench generators show NAME` tells the rest.")


@app.command(epilog=cli.EXIT_CODES)
def show(name: Annotated[str, typer.Argument(help="A layout's name.")]) -> None:
    """One layout: its bits, its facts, and what to beware of.

    Example:

      keybench generators show rt-comb-sql
    """
    chosen = layout(name)
    stream = chosen.stream(Process.current(), SystemClock(), AesEntropy.system())
    console = _console()
    for line in screens.shown(chosen, shown(stream.take(1)), console.width):
        console.print(line)


@app.command(epilog=cli.EXIT_CODES)
def make(
    name: Annotated[str, typer.Argument(help="A layout's name.")],
    number: Annotated[int, typer.Option("-n", "--number", min=1, help="How many keys.")] = 1,
    at: Annotated[str, typer.Option(help="All at this time, as 2024-03-21T04:19:11.304Z, not at the clock's.")] = "",
    seed: Annotated[int | None, typer.Option(min=0, help="Random bytes that repeat; else the system's.")] = None,
    worker: Annotated[int, typer.Option(min=0, help="The process's number, for layouts that need one.")] = 0,
) -> None:
    """Keys, one a line.

    Example:

      keybench generators make rt-comb-sql -n 5
    """
    chosen = layout(name)
    said = chosen.description
    if said.worker_ids is not None and worker >= said.worker_ids:
        raise UsageError(f"worker {worker} does not fit {name} keys: choose one from 0 to {said.worker_ids - 1}.")
    clock: Clock = VirtualClock(np.full(number, _instant(at))) if at else SystemClock()
    entropy = AesEntropy.system() if seed is None else AesEntropy.seeded(seed)
    here = Process.current()
    process = Process(here.machine, here.pid, index=worker, of=max(worker + 1, said.worker_ids or 1))
    stream = chosen.stream(process, clock, entropy)
    for start in range(0, number, _CHUNK):
        _write(stream.take(min(_CHUNK, number - start)))


@app.command(epilog=cli.EXIT_CODES)
def decode(
    key: Annotated[str, typer.Argument(help="A GUID in any spelling, an integer, or other keys' text or digits.")],
    as_layout: Annotated[
        str, typer.Option("--as", metavar="NAME", help="Read it as this layout, as its original would.")
    ] = "",
    stored: Annotated[
        str, typer.Option(metavar="ORDER", help=f"The digits show a column's bytes: {', '.join(PERMUTATIONS)}.")
    ] = "rfc",
    everything: Annotated[
        bool, typer.Option("--all", help="Also what is unlikely or ruled out, with the reason.")
    ] = False,
) -> None:
    """Which layouts a key can be, and what is in it: time, counter, shard, process.

    Examples:

      keybench generators decode d01c25cc-63a7-47cc-b5ba-018e5f3bff48

      keybench generators decode CC251CD0A763CC47B5BA018E5F3BFF48 --stored net

      keybench generators decode -- -JhLeOlGIEjaIOFHR0xd
    """
    if stored not in PERMUTATIONS:
        raise unknown_name("order", stored, PERMUTATIONS)
    now = SystemClock().now()
    console = _console()
    for number, keys in enumerate(parse(key, stored)):
        if number:
            console.print()
        found = [_as(layout(as_layout), keys, now)] if as_layout else readings(keys, now)
        for line in screens.decoded(shown(keys), found, console.width, everything=everything or bool(as_layout)):
            console.print(line)


def _as(chosen: Layout, keys: Keys, now: int) -> Reading:
    """What that layout's reader makes of a key, fixed bits or not; UsageError where it refuses the key."""
    decoded = chosen.decode(keys)
    ticks = None if decoded.ticks is None else int(decoded.ticks[0])
    fields = {name: int(values[0]) for name, values in decoded.fields.items()}
    reading = read(chosen, keys, now)
    return replace(reading, verdict="likely" if reading.verdict == "likely" else "unlikely", ticks=ticks, fields=fields)


def _instant(text: str) -> int:
    try:
        return ticks_of(datetime.fromisoformat(text))
    except ValueError as error:
        raise UsageError(f"{error}. A time is written as 2024-03-21T04:19:11.304Z.") from None


def _write(keys: Keys) -> None:
    if keys.kind == "uuid":
        lines = np.full((len(keys), 37), ord("\n"), np.uint8)
        lines[:, :36] = text36(keys)
        sys.stdout.write(lines.tobytes().decode())
    else:
        sys.stdout.writelines(f"{one.hex() if isinstance(one, bytes) else one}\n" for one in objects(keys))


def _console() -> Console:
    return Console(highlight=False, soft_wrap=False)


def main() -> None:
    """Runs the command and ends the process."""
    cli.run(app)
