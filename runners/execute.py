"""A whole run: every trial of the plan that is not recorded yet, each recorded when it ends."""

from __future__ import annotations

import signal
from collections.abc import Mapping
from dataclasses import replace
from types import FrameType

from rich.console import Console

from keybench.databases.hosting.private_folder import base_directory
from keybench.databases.registry import engine
from keybench.errors import KeybenchError
from keybench.model.names import MODEL_SERVER, NO_DATABASE
from keybench.results.store.store import Store
from keybench.runners.planning import estimate
from keybench.runners.planning.plan import Request, TrialPlan, plan
from keybench.runners.progress import display
from keybench.runners.servers import Servers
from keybench.runners.trials import bulk, verdicts
from keybench.runners.trials import keys_trial as generation
from keybench.runners.trials import model_trial as modelled
from keybench.runners.trials.server_trial import run_trial
from keybench.runners.writers import connections
from keybench.runners.writers.placed import crew_of

REGRESSION_OR_FAILURE = 1


def announce(request: Request, trials: tuple[TrialPlan, ...], todo: tuple[TrialPlan, ...], console: Console) -> None:
    """Prints what will run and the disk it needs; EnvironmentMissing where the disk is too small."""
    rows = sum(trial.rows for trial in todo)
    recorded = f", {len(trials) - len(todo)} of them recorded already" if len(todo) < len(trials) else ""
    servers = ", ".join(f"{name} ({server})" for name, server in request.servers.items())
    where = f" on {servers}, profile {request.profile}" if servers else ", without a database"
    say(console, f"{request.scenario.title} [{request.scenario.name}]{where}")
    blocks = f"{request.blocks} block{'s' if request.blocks > 1 else ''}"
    work = "rows to insert" if servers else "keys to make"
    say(console, f"{len(trials)} trials in {blocks}{recorded}; {rows:,} {work}; seed {request.seed}")
    if not any(_needs_server(request, trial) for trial in todo):
        return
    if bulk.chosen(request.scenario):
        say(console, bulk.ANNOUNCED)
    need = estimate.disk_bytes(request, todo)
    free = estimate.check_disk(need, base_directory())
    disk = estimate.gigabytes
    say(console, f"the largest trial needs about {disk(need)} of disk; {disk(free)} are free")


def execute(request: Request, store: Store, run_id: str, urls: Mapping[str, str], console: Console) -> int:
    """Runs what is left of the run; the command's exit code: 1 where any of its trials has failed.

    An interruption passes through as KeyboardInterrupt, after the servers have been stopped.
    """
    trials = plan(request)
    done = store.done(run_id)
    todo = tuple(trial for trial in trials if (trial.block, trial.position) not in done)
    signal.signal(signal.SIGTERM, _interrupt)
    announce(request, trials, todo, console)
    try:
        if todo:
            _run(request, todo, len(trials), store, run_id, urls, console)
    except (KeyboardInterrupt, KeybenchError):
        kept = len(store.done(run_id))
        say(console, f"stopped: {kept} of {len(trials)} trials are kept. Go on with: --resume {run_id}")
        raise
    failed = [trial for trial in store.trials(run_id) if trial.status == "error"]
    for trial in failed:
        say(console, f"failed: block {trial.block}, {trial.database} · {trial.layout} · {trial.column}: {trial.error}")
    say(console, f"run {run_id}: {len(trials) - len(failed)} trials measured, {len(failed)} failed.")
    return REGRESSION_OR_FAILURE if failed else 0


def _run(
    request: Request,
    todo: tuple[TrialPlan, ...],
    total: int,
    store: Store,
    run_id: str,
    urls: Mapping[str, str],
    console: Console,
) -> None:
    with (
        crew_of(request) as crew,
        Servers(
            request, urls, lambda found: store.add_environment(run_id, found), lambda text: say(console, text)
        ) as servers,
    ):
        on_servers = [trial for trial in todo if _needs_server(request, trial)]
        for database in dict.fromkeys(trial.database for trial in todo if _is_modelled(request, trial)):
            store.add_environment(run_id, modelled.environment(database))
        if on_servers and bulk.chosen(request.scenario):
            store.warn(run_id, bulk.WARNING)
        for database in dict.fromkeys(trial.database for trial in on_servers):
            if caveat := engine(database).caveat:
                store.warn(run_id, caveat)
            # A server that cannot be had at all, or not for all writers, ends the run here, before any trial.
            target = servers.reach(database)
            connections.check(request, target, crew)
            crew.check(database, target.address, len(request.scenario.writer), request.layouts)
            if described := crew.described():
                say(console, f"{database}: writers on {described['executor']}")
                for found in store.environments(run_id):
                    if found.database == database:
                        store.add_environment(run_id, replace(found, settings={**found.settings, **described}))
        if on_servers:
            predicted = estimate.pilot(request, on_servers, servers, crew)
            say(console, f"a pilot predicts {estimate.duration(predicted)} or more")
        with display(console, total) as shown:
            for number, trial in enumerate(todo, start=total - len(todo) + 1):
                shown.begin(number, trial)
                if trial.database == NO_DATABASE:
                    result = generation.run_trial(request, trial)
                elif _is_modelled(request, trial):
                    result = modelled.run_trial(request, trial)
                else:
                    result = run_trial(request, trial, servers.reach, crew, shown.rows)
                store.record(run_id, result)
                for text in verdicts.told(request, trial, result):
                    store.warn(run_id, text)
                shown.end(number, trial, result)


def _is_modelled(request: Request, trial: TrialPlan) -> bool:
    return request.servers.get(trial.database) == MODEL_SERVER


def _needs_server(request: Request, trial: TrialPlan) -> bool:
    return trial.database != NO_DATABASE and not _is_modelled(request, trial)


def _interrupt(_number: int, _frame: FrameType | None) -> None:
    raise KeyboardInterrupt


def say(console: Console, text: str) -> None:
    """Prints one line as it is: never styled, never wrapped."""
    console.print(text, markup=False, highlight=False, soft_wrap=True)
