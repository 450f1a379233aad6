"""The command `keybench run`."""

from __future__ import annotations

import os
import sys
from datetime import UTC, datetime
from typing import Annotated, get_args

import typer
from rich.console import Console
from sqlalchemy.engine import make_url

import keybench
from keybench import cli
from keybench.databases.contract import Profile
from keybench.databases.hosting import secret
from keybench.databases.hosting.container import KIND
from keybench.databases.hosting.recipe import ContainerOptions
from keybench.databases.registry import engine, engines
from keybench.errors import UsageError, unknown_name
from keybench.results.store.store import Run, Store, new_run_id
from keybench.runners.execute import announce, execute, say
from keybench.runners.measuring import machine
from keybench.runners.planning import config, load_path_support, server_keys, timetable
from keybench.runners.planning.plan import Request, check_columns, plan, resolve_layouts
from keybench.runners.planning.server_choice import is_url, resolve
from keybench.runners.writers import placed
from keybench.scenarios.schema import load_scenario

DEFAULT_RESULTS = "keybench-results.sqlite"
DEFAULT_DATABASES = ("postgresql", "sqlite")
DEFAULT_SERVER = "embedded"
"""Of a run that names no databases."""
DEFAULT_SCENARIO = "quick"
GIB = 1 << 30
_RESUMABLE = {"resume", "results", "server", "accept_eula", "ask_password"}
"""Options that go with --resume; the rest is the run's own."""

app = cli.application()


def _load_config(context: typer.Context, value: bool) -> bool:
    """Reads keybench.toml before any other option is looked at."""
    names = [parameter.name for parameter in context.command.params if parameter.name not in {"help", "config"}]
    if value:
        context.default_map = config.options("run", [name for name in names if name])
    return value


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
            help="Key layouts, comma-separated, or `all` that clients make. The control is always added.",
        ),
    ] = "",
    scenario: Annotated[
        str, typer.Option(envvar="KEYBENCH_SCENARIO", help="The work: a scenario's name, or the path of a .toml file.")
    ] = DEFAULT_SCENARIO,
    server: Annotated[
        list[str] | None,
        typer.Option(
            envvar="KEYBENCH_SERVER",
            help="auto, a kind (local, embedded), DB=KIND, or a URL; may be repeated. With no --db: embedded.",
        ),
    ] = None,
    column: Annotated[
        str,
        typer.Option(envvar="KEYBENCH_COLUMN", help="Key columns, comma-separated; else each layout's default column."),
    ] = "",
    rows: Annotated[
        int | None,
        typer.Option(envvar="KEYBENCH_ROWS", min=1, help="Rows of each trial; scales the writers' rates with it."),
    ] = None,
    writers: Annotated[
        int | None, typer.Option(envvar="KEYBENCH_WRITERS", min=1, max=64, help="So many equal writers at once.")
    ] = None,
    executor: Annotated[
        str,
        typer.Option(
            envvar="KEYBENCH_EXECUTOR",
            help="Where the writers run: a Dask scheduler, tcp://host:port; else processes of this machine.",
        ),
    ] = "",
    blocks: Annotated[
        int | None,
        typer.Option(
            envvar="KEYBENCH_BLOCKS",
            min=1,
            help="Repetitions of all trials, each in its own order; else the scenario's. 6 or more for claims.",
        ),
    ] = None,
    profile: Annotated[
        str, typer.Option(envvar="KEYBENCH_PROFILE", help="durable (fsync, full-page writes) or fast (neither).")
    ] = "durable",
    seed: Annotated[
        int, typer.Option(envvar="KEYBENCH_SEED", min=0, help="Decides the order of trials and all random bytes.")
    ] = 1,
    image: Annotated[
        str,
        typer.Option(
            envvar="KEYBENCH_IMAGE", help="Container images instead of keybench's own: DB=NAME:TAG, comma-separated."
        ),
    ] = "",
    memory: Annotated[
        float, typer.Option(envvar="KEYBENCH_MEMORY", min=0.5, help="GiB that each container may use.")
    ] = ContainerOptions.memory_bytes / GIB,
    cpus: Annotated[
        float, typer.Option(envvar="KEYBENCH_CPUS", min=0.1, help="Processors that each container may use.")
    ] = ContainerOptions.cpus,
    keep_server: Annotated[
        bool,
        typer.Option(
            "--keep-server", envvar="KEYBENCH_KEEP_SERVER", help="Leave containers running; say how to reach."
        ),
    ] = False,
    results: Annotated[
        str, typer.Option(envvar="KEYBENCH_RESULTS", help="Results database: a file, or a PostgreSQL URL.")
    ] = DEFAULT_RESULTS,
    resume: Annotated[
        str, typer.Option(help="Go on with a run (its id, a prefix of it, or `latest`): recorded trials are kept.")
    ] = "",
    trial_timeout: Annotated[
        float, typer.Option(envvar="KEYBENCH_TRIAL_TIMEOUT", min=1, help="Seconds after which a trial has failed.")
    ] = 3600.0,
    accept_eula: Annotated[
        str,
        typer.Option(help="Databases whose licence terms you accept, where a container needs that: mssql."),
    ] = "",
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Show the writers' hours, the trials and what they need; start nothing.")
    ] = False,
    config: Annotated[  # noqa: ARG001 (its callback has done the work)
        bool, typer.Option(is_eager=True, callback=_load_config, help="Read defaults from keybench.toml here.")
    ] = True,
) -> int:
    """Insert rows under each key layout into real servers and measure what that does to the index.

    With no options: PostgreSQL 18 and SQLite, both brought along, 50,000 rows a layout, three times: some 90 seconds.

    Examples:

      keybench run --db postgresql --layout uuid-v4,uuid-v7 --scenario two-million --blocks 6

      keybench run --db postgresql,sqlite --column binary16-mssql --layout all

      keybench run --db postgresql --server postgresql://me@db.example/bench
    """
    console = Console(highlight=False)
    if accept_eula:
        os.environ["KEYBENCH_ACCEPT_EULA"] = ",".join(engine(name).name for name in _names(accept_eula))
    if resume:
        return _resume(context, resume, results, server or [], console)
    work = load_scenario(scenario)
    if work.generation:
        _refuse_databases(context, work.name)
    asked_servers = _servers(server or ([] if db else [DEFAULT_SERVER]))
    databases = () if work.generation else _databases(db) if db else DEFAULT_DATABASES
    if writers is not None:
        work = work.with_equal_writers(writers)
    columns = _names(column)
    check_columns(databases, columns or work.columns)
    layouts = resolve_layouts(_names(layout), work)
    server_keys.check(layouts, databases, work)
    load_path_support.check_databases(work, databases)
    if profile not in get_args(Profile):
        raise unknown_name("profile", profile, get_args(Profile))
    kinds = resolve(databases, asked_servers)
    load_path_support.check_servers(work, kinds)
    if keep_server and KIND not in kinds.values():
        raise UsageError(
            "--keep-server keeps containers, and this run has none: private servers of other kinds end with the run. "
            "Choose --server container, or start a server by hand and give its URL."
        )
    placed.check(executor, kinds)
    request = Request(
        databases=databases,
        servers={name: _without_password(kind) for name, kind in kinds.items()},
        scenario=work,
        layouts=layouts,
        columns=columns,
        rows=rows,
        blocks=blocks or work.blocks,
        profile=profile,  # type: ignore[arg-type]
        seed=seed,
        trial_timeout=trial_timeout,
        images=_images(image, databases),
        memory=int(memory * GIB),
        cpus=cpus,
        keep_server=keep_server,
        executor=executor,
    )
    trials = plan(request)
    if dry_run:
        announce(request, trials, trials, console)
        for line in timetable.lines(work, trials[0].rows):
            say(console, line)
        for trial in trials:
            say(console, f"  block {trial.block}: {trial.label}, {trial.rows:,} rows")
        return 0
    with Store.open(results, write=True) as store:
        run_id = new_run_id()
        store.add_run(
            Run(
                id=run_id,
                started=datetime.now(UTC),
                keybench=keybench.__version__,
                command=_command(),
                seed=seed,
                blocks=request.blocks,
                scenario=work.name,
                profile=profile,
                definition=request.to_json(),
                machine=machine.describe(),
            )
        )
        return _finish(execute(request, store, run_id, kinds, console), run_id, results, console)


def _refuse_databases(context: typer.Context, scenario: str) -> None:
    """UsageError where options are given that only mean something with a database."""
    given = [
        name
        for name in ("db", "server", "column", "writers", "executor")
        if context.get_parameter_source(name).name == "COMMANDLINE"  # type: ignore[union-attr]
    ]
    if given:
        options = ", ".join(f"--{name}" for name in given)
        raise UsageError(f"scenario {scenario} only makes keys, without a database: leave out {options}.")


def _resume(context: typer.Context, name: str, results: str, servers: list[str], console: Console) -> int:
    given = {
        parameter
        for parameter in context.params
        if parameter not in _RESUMABLE and context.get_parameter_source(parameter).name == "COMMANDLINE"  # type: ignore[union-attr]
    }
    if given:
        options = ", ".join(f"--{option.replace('_', '-')}" for option in sorted(given))
        raise UsageError(f"--resume goes on with the run as it was planned: leave out {options}.")
    with Store.open(results, write=True) as store:
        run = store.run(name)
        request = Request.from_json(run.definition)
        urls = resolve(request.databases, _servers(servers)) if servers else dict(request.servers)
        changed = {k for k, v in urls.items() if _without_password(v) != request.servers[k]}
        if changed:
            raise UsageError(
                f"--resume: the run used {request.servers}; only a password may be given again with --server."
            )
        if run.keybench != keybench.__version__:
            store.warn(run.id, f"begun with keybench {run.keybench}, resumed with {keybench.__version__}")
        return _finish(execute(request, store, run.id, urls, console), run.id, results, console)


def _finish(code: int, run_id: str, results: str, console: Console) -> int:
    where = "" if results == DEFAULT_RESULTS else f" --results {_without_password(results)}"
    say(console, f"next: keybench report {run_id}{where} -o report.html")
    return code


def _names(text: str) -> tuple[str, ...]:
    return tuple(dict.fromkeys(name for name in (part.strip() for part in text.split(",")) if name))


def _databases(text: str) -> tuple[str, ...]:
    return tuple(engines()) if text == "all" else tuple(engine(name).name for name in _names(text))


def _images(text: str, databases: tuple[str, ...]) -> dict[str, str]:
    """`postgresql=postgres:17,mysql=mysql:9` by database; a name without DB= is refused, for images are of one each."""
    found = {}
    for value in _names(text):
        name, _, image = value.partition("=")
        if name not in databases or not image:
            raise UsageError(
                f"--image {value}: write DB=NAME:TAG, where DB is one of this run's databases "
                f"({', '.join(databases) or 'none'}), as in postgresql=postgres:17."
            )
        found[name] = image
    return found


def _servers(values: list[str]) -> tuple[str, ...]:
    """URLs are taken whole; everything else may be a comma-separated list."""
    return tuple(name for value in values for name in ((value,) if is_url(value) else _names(value)))


def _without_password(server: str) -> str:
    if not is_url(server):
        return server
    return make_url(server).set(password=None).difference_update_query(["password"]).render_as_string()


def _command() -> str:
    """The command line as it may be shown."""
    return " ".join(["keybench run", *(secret.redacted(argument) for argument in sys.argv[1:])])


def main() -> None:
    """Runs the command and ends the process."""
    cli.run(app)
