"""Executes a run: every planned trial that is not recorded yet. Each trial is recorded when it ends."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, closing, contextmanager, suppress
from dataclasses import replace
from functools import partial

from rich.console import Console

from keybench import cli
from keybench.databases.hosting import docker_daemon
from keybench.databases.registry import engine
from keybench.errors import KeybenchError, UsageError
from keybench.locked_folder import base_directory
from keybench.model.url import is_url
from keybench.results.store.database import Store
from keybench.runners import estimate
from keybench.runners.planning.columns import layouts_of_servers
from keybench.runners.planning.server_choice import settings_of
from keybench.runners.planning.trial_plan import Request, TrialPlan, plan
from keybench.runners.progress import Display, say
from keybench.runners.servers import RunServers, Target
from keybench.runners.trials.kinds import new_trial
from keybench.runners.trials.prediction import model_environment, rehearse
from keybench.runners.trials.server_trial import Resources
from keybench.runners.writers.dask_cluster import writer_pool
from keybench.runners.writers.processes import WriterPool, run_all

REGRESSION_OR_FAILURE = 1
"""The exit code of a run with a failed trial."""


def announce(request: Request, trials: tuple[TrialPlan, ...], todo: tuple[TrialPlan, ...], console: Console) -> None:
    """Prints what will run, and the disk and memory that it needs; EnvironmentMissing if there is too little. `trials`
    are all trials of the run, `todo` those that are not recorded yet."""
    recorded = f", {len(trials) - len(todo)} of them recorded already" if len(todo) < len(trials) else ""
    servers = ", ".join(f"{name} ({server})" for name, server in request.servers.items())
    where = f" on {servers}, profile {request.profile}" if servers else ", without a database"
    say(console, f"{request.scenario.title} [{request.scenario.name}]{where}")
    row_counts = sorted({trial.rows for trial in trials})
    each = f"{row_counts[0]:,}" if len(row_counts) == 1 else f"{row_counts[0]:,} to {row_counts[-1]:,}"
    rows = sum(trial.rows for trial in todo)
    noun, total = ("rows", "rows to insert") if servers else ("keys", "keys to make")
    say(
        console,
        f"{len(trials)} trials in {_blocks(request.blocks)}, {each} {noun} in each trial{recorded}; "
        f"{rows:,} {total}; seed {request.seed}{_difference_from_scenario(request, row_counts)}",
    )
    if todo:
        need, free = map(estimate.gigabytes, estimate.check_memory(request, todo))
        say(console, f"the largest trial needs about {need} of memory; {free} are available")
    if chosen := request.scenario.server.settings:
        say(console, "settings: " + ", ".join(f"{name} = {value}" for name, value in chosen.items()))
    if not any(request.on_server(trial.database) for trial in todo):
        return
    if announcement := request.scenario.load_path.announcement:
        say(console, announcement)
    _announce_disk(request, todo, console)


def _announce_disk(request: Request, todo: tuple[TrialPlan, ...], console: Console) -> None:
    """Prints the disk that the trials need where they run; EnvironmentMissing if there is too little."""
    gigabytes, largest = estimate.gigabytes, "the largest trial needs about"
    if need := estimate.disk_bytes(request, todo):
        free = estimate.check_disk(need, base_directory())
        say(console, f"{largest} {gigabytes(need)} of disk; {gigabytes(free)} are free")
    if need := estimate.disk_bytes(request, todo, "docker"):
        if folder := docker_daemon.data_folder():
            free = estimate.check_disk(need, folder, "give Docker more room (docker system df shows what it holds)")
            say(console, f"{largest} {gigabytes(need)} of Docker's disk; {gigabytes(free)} are free")
        else:
            say(console, f"{largest} {gigabytes(need)} of Docker's disk, which keybench does not check")
    if need := estimate.disk_bytes(request, todo, "url"):
        say(console, f"{largest} {gigabytes(need)} of disk on your server, which keybench does not check")


def _difference_from_scenario(request: Request, row_counts: Sequence[int]) -> str:
    """The rows and blocks of the scenario where the run has others, in brackets; empty if it has the same.
    `row_counts`: how many rows the run's trials have, each number once."""
    scenario = request.scenario
    other_rows = scenario.rows and any(rows != scenario.rows for rows in row_counts)
    differences = [f"{scenario.rows:,} rows"] if other_rows else []
    differences += [_blocks(scenario.blocks)] if request.blocks != scenario.blocks else []
    return f" (the scenario has {' and '.join(differences)})" if differences else ""


def _blocks(count: int) -> str:
    return f"{count} block{'' if count == 1 else 's'}"


def execute(
    request: Request, store: Store, run_id: str, urls: Mapping[str, str], console: Console, *, debug: bool = False
) -> int:
    """Runs the trials that are not recorded yet. Returns the command's exit code: 1 if any trial of the run failed.

    `urls`: servers by database, with passwords. An interruption is raised as KeyboardInterrupt, after the servers have
    been stopped. With `debug` the traceback of an unexpected exception is printed on standard error when its trial
    ends.
    """
    trials = plan(request)
    done = store.done(run_id)
    todo = tuple(trial for trial in trials if (trial.block, trial.position) not in done)
    with ExitStack() as open_until_the_end:
        enter = open_until_the_end.enter_context
        enter(_says_what_is_kept(store, run_id, len(trials), console))
        announce(request, trials, todo, console)
        if todo:  # with nothing to do, no server is started and the loop below has no turn
            shown, pool = enter(Display(console, len(trials))), enter(writer_pool(request))
            note_environment = partial(store.add_environment, run_id)
            servers = enter(closing(RunServers(request, urls, note_environment, partial(say, console))))
            _prepare(request, todo, store, run_id, servers, pool, shown, console)
            resources = Resources(servers.reach, pool, shown.rows, servers.restart, servers.gone)
        for number, planned in enumerate(todo, start=len(trials) - len(todo) + 1):  # goes on after the recorded ones
            shown.begin(number, planned)
            trial = new_trial(request, planned, resources)
            record = trial.run()
            store.record(run_id, record)
            for text in trial.warnings(record):
                store.warn(run_id, text)
            shown.end(number, planned, record)
            if debug and record.traceback:
                say(cli.console(stderr=True), record.traceback)
    failed = [recorded for recorded in store.trials(run_id) if recorded.status == "error"]
    for one in failed:
        say(console, f"failed: block {one.block}, {one.database} · {one.layout} · {one.column}: {one.error}")
    say(console, f"run {run_id}: {len(trials) - len(failed)} trials measured, {len(failed)} failed.")
    return REGRESSION_OR_FAILURE if failed else 0


@contextmanager
def _says_what_is_kept(store: Store, run_id: str, trials: int, console: Console) -> Iterator[None]:
    """Says what the results keep of a run that an error or an interruption ends."""
    try:
        yield
    except (KeyboardInterrupt, KeybenchError):
        if recorded := len(store.done(run_id)):
            say(console, f"stopped: {recorded} of {trials} trials are kept. Go on with: --resume {run_id}")
        else:
            store.remove_empty_run(run_id)
            say(console, "stopped before the first trial ended: the results have nothing of this run")
        raise


def _prepare(
    request: Request,
    todo: Sequence[TrialPlan],
    store: Store,
    run_id: str,
    servers: RunServers,
    pool: WriterPool,
    shown: Display,
    console: Console,
) -> None:
    """Starts each server, checks that all writers can work there, and runs the pilots (small trials that predict how
    long the run takes). Stores environments and warnings. An error ends the run before its first trial."""
    # page models: they have settings, but no server
    for database in dict.fromkeys(trial.database for trial in todo if request.is_modelled(trial.database)):
        chosen = settings_of(request.scenario, engine(database))
        store.add_environment(run_id, model_environment(database, request.servers[database], chosen))
    # servers
    trials = [trial for trial in todo if request.on_server(trial.database)]
    _compile(request, trials, shown)
    if trials and (warning := request.scenario.load_path.warning):
        store.warn(run_id, warning)
    for database in dict.fromkeys(trial.database for trial in trials):
        if caveat := engine(database).caveat:
            store.warn(run_id, caveat)
        verb = "connecting to" if is_url(request.servers[database]) else "starting"
        shown.stage(f"{verb} {engine(database).title}")
        target = servers.reach(database)  # started, and its environment stored, if it is not running
        check_connections(request, target, pool)
        pool.check(database, target.address, request.scenario.most_writers, request.layouts)
        if description := pool.description():  # other machines write
            say(console, f"{database}: writers on {description['executor']}")
            _add_to_environment(store, run_id, database, description)
    if trials:
        say(console, estimate.pilot(request, trials, servers, pool, shown.stage))


def _add_to_environment(store: Store, run_id: str, database: str, facts: Mapping[str, str]) -> None:
    """Adds facts to the settings in the stored environment of that database."""
    for environment in store.environments(run_id):
        if environment.database == database:
            store.add_environment(run_id, replace(environment, settings={**environment.settings, **facts}))


def _compile(request: Request, trials: Sequence[TrialPlan], shown: Display) -> None:
    """Compiles the page models of engines that never ran here, all at once, as first trials would do one by one."""
    from keybench.compiled import first_use  # which imports numba, and a dry run needs none

    if request.scenario.kind != "load" or not request.scenario.load_path.in_order:  # a rehearsal is of no use there
        return
    by_column = {  # compiled loops depend on the column: one trial of each
        (trial.database, trial.column): trial for trial in trials if trial.layout not in layouts_of_servers()
    }
    new = [name for name in dict.fromkeys(database for database, _ in by_column) if first_use(name)]
    if not new:
        return
    shown.stage("compiling the page models, once after an installation or an update")
    work = [(request, [trial for (database, _), trial in by_column.items() if database == name]) for name in new]
    with suppress(KeybenchError):  # a trial that needs what fails here says why
        run_all(rehearse, work, timeout=request.trial_timeout)


def check_connections(request: Request, target: Target, pool: WriterPool) -> None:
    """UsageError if the writers need more connections than the server has left."""
    writers = request.scenario.most_writers
    needed = writers * pool.connections_per_writer
    with closing(target.engine.admin(target.address)) as admin:
        left = admin.sessions_left()  # None: without a limit
    if left is not None and needed > left:
        number = "as many" if needed == writers else str(needed)
        raise UsageError(
            f"{writers} writers need {number} connections, and {target.engine.title} ({target.server}) accepts {left} "
            "more: use fewer writers, or raise its limits (max_connections, and the limit of its user)."
        )
