"""What a run is to measure: from its options, or as it was recorded."""

import os
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from typing import Final, get_args

from rich.console import Console

import keybench
from keybench import cli
from keybench.databases.contract.engine import Engine
from keybench.databases.contract.settings import Profile
from keybench.databases.registry import engine, engines
from keybench.errors import UsageError, unknown_name
from keybench.generators.core.layout import FILE, keys_of_file
from keybench.model.names import MODEL_SERVER
from keybench.model.url import argument_without_password, is_url, without_password
from keybench.results.store.database import Store
from keybench.results.store.records import Run, new_run_id
from keybench.runners import config
from keybench.runners.execute import announce
from keybench.runners.measuring import machine
from keybench.runners.options import GIB, RunOptions
from keybench.runners.planning import columns, server_choice
from keybench.runners.planning.trial_plan import ALL, Request, plan, resolve_layouts
from keybench.runners.progress import say
from keybench.runners.trials import load_cost
from keybench.runners.writers.dask_cluster import check_executor
from keybench.scenarios.files import load_scenario, with_payload
from keybench.scenarios.schema import Scenario

_BESIDE_RESUME: Final = {"resume", "results", "server", "accept_eula", "debug", "config"}
"""Options that may be given with --resume. For all other options the run has its own values."""
_OF_DATABASES: Final = ("db", "server", "column", "set", "writers", "payload", "executor")
"""Options that mean nothing to a run without a database."""


def request_of(options: RunOptions, on_command_line: Collection[str] = ()) -> tuple[Request, dict[str, str]]:
    """(the request, the server of each database: its kind, or its URL with the password).

    `on_command_line`: names of the options that are there, not in the environment or the configuration. Raises
    UsageError for an unknown name and for options that exclude one another, and EnvironmentMissing if a server cannot
    be started here.
    """
    # the work: scenario and databases
    scenario = load_scenario(options.scenario)
    if scenario.kind == "keys" and (unused := [name for name in _OF_DATABASES if name in on_command_line]):
        raise UsageError(f"scenario {scenario.name} only makes keys, without a database: leave out {_spelled(unused)}.")
    databases = _databases(options, scenario)
    if options.writers is not None:
        scenario = scenario.with_equal_writers(options.writers)
    if options.payload:
        scenario = with_payload(scenario, options.payload)
    scenario = server_choice.with_settings_chosen(scenario, databases, server_choice.read_settings(options.set or ()))
    # what is compared: columns and layouts
    asked_columns = names(options.column)
    if asked_columns:
        columns.check_columns(databases, asked_columns)
    else:
        columns.check_scenario(scenario, databases)
    asked_layouts, lines_of_file = names(options.layout), None
    if options.keys:  # the file is a layout beside the others
        asked_layouts = (*(asked_layouts or scenario.layouts), FILE + options.keys)
        lines_of_file = len(keys_of_file(options.keys))
    layouts = resolve_layouts(asked_layouts, scenario)
    columns.check_server_keys(layouts, databases, scenario)
    server_choice.check_load_path(scenario, databases)
    if options.profile not in get_args(Profile):
        raise unknown_name("profile", options.profile, get_args(Profile))
    # where: servers, and what they can do
    servers = server_choice.resolve(databases, server_names(options.servers))
    server_choice.check_path_on_servers(scenario, servers)
    server_choice.check_restarts(scenario, servers)
    columns.check_servers(layouts, servers)
    check_executor(options.executor, servers)
    ram, checkpoint = load_cost.ram_and_checkpoint(options.ram, options.checkpoint, servers)
    request = Request(
        databases=databases,
        servers={name: without_password(server) for name, server in servers.items()},
        scenario=scenario,
        layouts=layouts,
        columns=asked_columns,
        rows=options.rows or lines_of_file,  # None: as the scenario says
        blocks=options.blocks or scenario.blocks,
        profile=options.profile,  # type: ignore[arg-type]
        seed=options.seed,
        trial_timeout=options.trial_timeout,
        images=_images(options.image, databases),
        memory=int(options.memory * GIB),
        cpus=options.cpus,
        executor=options.executor,
        ram=ram,
        checkpoint=checkpoint,
    )
    load_cost.check(request)
    plan(request)  # refuses what cannot be planned before anything is recorded
    return request, servers


def notes(options: RunOptions, request: Request) -> list[str]:
    """What the user should know about the chosen servers and layouts before the run."""
    asked = names(options.layout) or request.scenario.layouts
    lines = server_choice.reasons_of_auto(request.databases, server_names(options.servers))
    lines.append(columns.left_out_of_models(request.layouts, request.servers))
    if not asked or ALL in asked:
        lines.append(columns.left_out_of_all(request.layouts, request.servers, request.scenario))
    return [line for line in (*lines, *load_cost.notes(request)) if line]  # a line is empty if it has nothing to say


def dry_run(request: Request, notes_for_user: Sequence[str], console: Console) -> int:
    """Prints when each writer is busy, the trials, and the disk space they need; starts nothing."""
    trials = plan(request)
    announce(request, trials, trials, console)  # all trials are still to run
    for line in (*notes_for_user, *timetable(request.scenario, trials[0].rows)):
        say(console, line)
    for trial in trials:
        say(console, f"  block {trial.block}: {trial.label}, {trial.rows:,} rows")
    return 0


def timetable(scenario: Scenario, rows: int) -> list[str]:
    """When each writer of a load of `rows` rows is there and busy, and at what rate: a line for each."""
    end = scenario.phases(rows)[-1].end
    scale = rows / scenario.rows if scenario.rows else 1.0  # other numbers of rows change the rates, not the times
    lines = []
    for writer in scenario.writer:
        line = f"{writer.id}: {writer.rate * scale:.4g} rows/s; runs {writer.start:,g} … {min(writer.last, end):,g} s"
        spells = [f"{begin:,g} … {min(stop, end):,g} s" for begin, stop in writer.busy or () if begin < end]
        busy = spells[0] if len(spells) == 1 else f"in {len(spells)} spells"
        lines.append(line if writer.busy is None else f"{line}; busy {busy}")  # None: busy as long as it runs
    return lines


def add_run(store: Store, request: Request, command: str) -> str:
    """Records a new run, before its first trial; returns its id."""
    run = Run(
        id=new_run_id(),
        started=datetime.now(UTC),
        keybench=keybench.__version__,
        command=command,
        seed=request.seed,
        blocks=request.blocks,
        scenario=request.scenario.name,
        profile=request.profile,
        definition=request.to_json(),
        machine=machine.describe(),
    )
    store.add_run(run)
    return run.id


def refuse_beside_resume(on_command_line: Collection[str]) -> None:
    """UsageError if one of these options may not be given with --resume, because the run has recorded its value."""
    if refused := sorted(set(on_command_line) - _BESIDE_RESUME):
        raise UsageError(f"--resume goes on with the run as it was planned: leave out {_spelled(refused)}.")


def recorded_run(store: Store, options: RunOptions) -> tuple[str, Request, dict[str, str]]:
    """(id, request, servers by database) of the run that --resume names. --server may give the run's URLs again with
    passwords, which are not recorded; any other server is a UsageError. Warns of another version of keybench."""
    run = store.run(options.resume)
    request = Request.from_json(run.definition)
    asked = server_names(options.server or ())
    servers = server_choice.resolve(request.databases, asked) if asked else dict(request.servers)
    if any(without_password(servers[name]) != without_password(used) for name, used in request.servers.items()):
        raise UsageError(f"--resume: the run used {request.servers}; only a password may be given again with --server.")
    if run.keybench != keybench.__version__:
        store.warn(run.id, f"begun with keybench {run.keybench}, resumed with {keybench.__version__}")
    return run.id, request, servers


def command_line(arguments: Sequence[str], command: str = "run") -> str:
    """The command line without passwords, so that it may be shown and stored. `arguments` begin with `run` for
    `keybench run`, and with the first option for `python -m runners.run`."""
    options = arguments[1:] if arguments[:1] == [command] else arguments
    return " ".join([f"keybench {command}", *map(argument_without_password, options)])


def results_option(results: str) -> str:
    """The option that names this results database to another command; empty for the usual one."""
    return "" if results == cli.RESULTS else f" --results {without_password(results)}"


def _databases(options: RunOptions, scenario: Scenario) -> tuple[str, ...]:
    """The names of the databases that --db asks for, without --db the default ones; none for a scenario that only makes
    keys. UsageError for a text without a name."""
    if scenario.kind == "keys":
        return ()
    if options.db and not names(options.db):
        raise UsageError(f"--db {options.db!r} names no database: name one, such as sqlite, or leave the option out.")
    if options.db == "all":
        asked = server_names(options.servers)
        return tuple(name for name, on in engines().items() if _has_server(on, asked))
    return tuple(engine(name).name for name in names(options.db)) or config.DATABASES


def _has_server(on: Engine, asked: tuple[str, ...]) -> bool:
    """Whether `--db all` includes the engine: a value of --server is for it alone, or keybench can start a server of
    it. With `--server model` it needs a page model instead."""
    if any(server.partition("=")[0] == on.name or (is_url(server) and on.reached_by(server)) for server in asked):
        return True
    for_all_databases = {server for server in asked if not is_url(server) and "=" not in server}
    return bool(on.has_page_model if MODEL_SERVER in for_all_databases else on.servers)


def _spelled(parameters: Sequence[str]) -> str:
    """The options as a user writes them, comma-separated: `dry_run` is --dry-run."""
    return ", ".join(f"--{name.replace('_', '-')}" for name in parameters)


def names(text: str) -> tuple[str, ...]:
    """The names in a comma-separated list, each once."""
    return tuple(dict.fromkeys(name for name in (part.strip() for part in text.split(",")) if name))


def server_names(values: Sequence[str]) -> tuple[str, ...]:
    """The servers in the values of --server: a URL is one server, any other value is a comma-separated list."""
    return tuple(name for value in values for name in ((value,) if is_url(value) else names(value)))


def _images(text: str, databases: tuple[str, ...]) -> dict[str, str]:
    """Container images by database, from `postgresql=postgres:17,mysql=mysql:9`. UsageError for anything else."""
    images = {}
    for value in names(text):
        name, _, image = value.partition("=")
        if name not in databases or not image:
            raise UsageError(
                f"--image {value}: write DB=NAME:TAG, where DB is one of this run's databases "
                f"({', '.join(databases) or 'none'}), as in postgresql=postgres:17."
            )
        images[name] = image
    return images


@contextmanager
def licences_accepted(databases: str) -> Iterator[None]:
    """Until the block ends, tells the engines which databases' licence terms the user accepts."""
    variable = "KEYBENCH_ACCEPT_EULA"
    before = os.environ.get(variable)
    try:
        if databases:
            os.environ[variable] = ",".join(engine(name).name for name in names(databases))
        yield
    finally:
        if before is None:
            os.environ.pop(variable, None)
        else:
            os.environ[variable] = before
