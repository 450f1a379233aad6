"""The command `keybench run`: its options.

The modules that a run needs are imported when it begins, so that `keybench run --help` answers at once.
"""

from __future__ import annotations

from typing import Annotated

import typer

from keybench import cli
from keybench.databases.contract.options import ContainerOptions
from keybench.model.names import MOST_BLOCKS, MOST_ROWS
from keybench.runners import config as defaults

GIB = 1 << 30
_BESIDE_RESUME = {"resume", "results", "server", "accept_eula", "debug", "config"}
"""Options that may be given with --resume. For all other options the run has its own values."""

app = cli.application()


def _load_config(context: typer.Context, value: bool) -> bool:
    """Reads keybench.toml before the other options are processed."""
    if value:
        named = {parameter.name: parameter for parameter in context.command.params if parameter.name}
        context.default_map = defaults.options(
            "run", named.keys() - {"help", "config"}, repeated={name for name in named if named[name].multiple}
        )
    return value


def _given(context: typer.Context) -> frozenset[str]:
    """Parameters whose value is on the command line, not in the environment or keybench.toml."""
    sources = {name: context.get_parameter_source(name) for name in context.params}
    return frozenset(name for name, source in sources.items() if source and source.name == "COMMANDLINE")


@app.command(epilog=cli.EXIT_CODES)
def run(
    context: typer.Context,
    db: Annotated[
        str, typer.Option(envvar="KEYBENCH_DB", help="Databases, comma-separated; `all` for every engine.")
    ] = "",
    layout: Annotated[
        str,
        typer.Option(
            envvar="KEYBENCH_LAYOUT",
            help="Key layouts, comma-separated; `all` for every layout that clients make. The control is always added.",
        ),
    ] = "",
    scenario: Annotated[
        str, typer.Option(envvar="KEYBENCH_SCENARIO", help="The work: a scenario's name, or the path of a .toml file.")
    ] = defaults.SCENARIO,
    server: Annotated[
        list[str] | None,
        typer.Option(
            envvar="KEYBENCH_SERVER",
            help="auto, a kind (container, local, embedded, model), DB=KIND, or a URL; "
            "may be repeated. Without --db: embedded.",
        ),
    ] = None,
    column: Annotated[
        str,
        typer.Option(
            envvar="KEYBENCH_COLUMN",
            help="Key columns, comma-separated: names, native (the database's own type), or suited (that and, beside "
            "it, the column in whose order the layout ascends). By default the scenario's, else native.",
        ),
    ] = "",
    set: Annotated[  # noqa: A002 (the option's name, also in keybench.toml)
        list[str] | None,
        typer.Option(
            "--set",
            envvar="KEYBENCH_SET",
            metavar="NAME=VALUE",
            help="A setting of the server or its tables on which pages depend, as page_size=8K or "
            "mariadb.page_size=8K; may be repeated. `keybench list databases` names them.",
        ),
    ] = None,
    rows: Annotated[
        int | None,
        typer.Option(
            envvar="KEYBENCH_ROWS", min=1, max=MOST_ROWS, help="Rows of each trial; the writers' rates scale with it."
        ),
    ] = None,
    writers: Annotated[
        int | None,
        typer.Option(
            envvar="KEYBENCH_WRITERS", min=1, max=64, help="Number of equal writers, in place of the scenario's."
        ),
    ] = None,
    payload: Annotated[
        str,
        typer.Option(
            envvar="KEYBENCH_PAYLOAD",
            help="Characters beside the key, in place of the scenario's: 100, a range 0-200 or 0-200:zipfian, or "
            "several, comma-separated.",
        ),
    ] = "",
    executor: Annotated[
        str,
        typer.Option(
            envvar="KEYBENCH_EXECUTOR",
            help="Dask scheduler whose workers write, tcp://host:port; by default processes of this machine write.",
        ),
    ] = "",
    blocks: Annotated[
        int | None,
        typer.Option(
            envvar="KEYBENCH_BLOCKS",
            min=1,
            max=MOST_BLOCKS,
            help="Repetitions of all trials, each in its own order; by default the "
            "scenario's. Use 6 or more for claims.",
        ),
    ] = None,
    profile: Annotated[
        str,
        typer.Option(
            envvar="KEYBENCH_PROFILE", help="Server settings: durable (fsync, full-page writes) or fast (neither)."
        ),
    ] = "durable",
    seed: Annotated[
        int, typer.Option(envvar="KEYBENCH_SEED", min=0, help="Determines the order of trials and all random bytes.")
    ] = 1,
    ram: Annotated[
        str,
        typer.Option(
            envvar="KEYBENCH_RAM",
            help="With --server model: the server's page cache, as 64GB (a GB has 1,024³ bytes).",
        ),
    ] = "",
    checkpoint: Annotated[
        str,
        typer.Option(
            envvar="KEYBENCH_CHECKPOINT",
            help="With --server model: log between two checkpoints, as 4GB, as the engine's setting counts it.",
        ),
    ] = "",
    image: Annotated[
        str,
        typer.Option(
            envvar="KEYBENCH_IMAGE",
            help="Container images in place of keybench's choice: DB=NAME:TAG, comma-separated.",
        ),
    ] = "",
    memory: Annotated[
        float,
        typer.Option(
            envvar="KEYBENCH_MEMORY",
            min=0.5,
            max=1e6,
            callback=cli.finite,
            help="GiB of memory that each container may use.",
        ),
    ] = ContainerOptions.memory_bytes / GIB,
    cpus: Annotated[
        float,
        typer.Option(
            envvar="KEYBENCH_CPUS",
            min=0.1,
            max=1e4,
            callback=cli.finite,
            help="Processors that each container may use.",
        ),
    ] = ContainerOptions.cpus,
    keep_server: Annotated[
        bool,
        typer.Option(
            "--keep-server", envvar="KEYBENCH_KEEP_SERVER", help="Leave containers running and print how to reach them."
        ),
    ] = False,
    results: Annotated[
        str, typer.Option(envvar="KEYBENCH_RESULTS", help="Results database: a file, or a PostgreSQL URL.")
    ] = defaults.RESULTS,
    resume: Annotated[
        str,
        typer.Option(help="Go on with this run (an id, a unique prefix of it, or `latest`); recorded trials are kept."),
    ] = "",
    trial_timeout: Annotated[
        float,
        typer.Option(
            envvar="KEYBENCH_TRIAL_TIMEOUT",
            min=1,
            max=1e9,
            callback=cli.finite,
            help="Seconds after which a trial is stopped and counts as failed.",
        ),
    ] = 3600.0,
    accept_eula: Annotated[
        str,
        typer.Option(help="Databases whose licence terms you accept; containers of mssql need it."),
    ] = "",
    dry_run: Annotated[
        bool,
        typer.Option(
            "--dry-run", help="Show when each writer is busy, the trials and the disk they need; start nothing."
        ),
    ] = False,
    debug: Annotated[
        bool,
        typer.Option(
            "--debug", envvar="KEYBENCH_DEBUG", help="Print the traceback of each unexpected exception in a trial."
        ),
    ] = False,
    config: Annotated[  # noqa: ARG001 (its callback does the work)
        bool,
        typer.Option(is_eager=True, callback=_load_config, help="Read defaults from keybench.toml in this folder."),
    ] = True,
) -> int:
    """Insert rows under each key layout into real servers and measure what that does to the index.

    Without options: PostgreSQL 18 and SQLite, which need no installation, 50,000 rows a layout, three times, in about
    90 seconds.

    Examples:

      keybench run --db postgresql --layout uuid-v4,uuid-v7 --scenario two-million --blocks 6

      keybench run --db postgresql,sqlite --column binary16-mssql --layout all

      keybench run --db postgresql --server postgresql://me@db.example/bench

      keybench run --db mariadb --set page_size=8K --layout uuid-v4,uuid-v7

      keybench run --db postgresql --server model --ram 256MB --scenario beyond-cache
    """
    from rich.console import Console

    from keybench.databases.hosting import secret
    from keybench.runners import launch
    from keybench.runners.options import Options, licences_accepted

    options = Options(
        given=_given(context),
        db=db,
        layout=layout,
        scenario=scenario,
        server=server or (),
        column=column,
        settings=set or (),
        rows=rows,
        writers=writers,
        payload=payload,
        executor=executor,
        blocks=blocks,
        profile=profile,
        seed=seed,
        image=image,
        memory_bytes=int(memory * GIB),
        cpus=cpus,
        keep_server=keep_server,
        trial_timeout=trial_timeout,
        ram=ram,
        checkpoint=checkpoint,
    )
    console = Console(highlight=False)
    with licences_accepted(accept_eula), secret.removed_afterwards():
        if resume:
            options.refuse_beside_resume(_BESIDE_RESUME)
            return launch.resume(resume, server or [], results, console, debug=debug)
        if dry_run:
            return launch.dry_run(options, console)
        return launch.start(options, results, console, debug=debug)


def main() -> None:
    """Runs the command and ends the process."""
    cli.run(app)
