"""Starts a new run, shows what a run would do, or resumes a run."""

from __future__ import annotations

import sys
from datetime import UTC, datetime

from rich.console import Console

import keybench
from keybench.errors import UsageError
from keybench.model.url import argument_without_password, without_password
from keybench.results.store.database import Store
from keybench.results.store.records import Run, new_run_id
from keybench.runners import config
from keybench.runners.execute import announce, execute, say
from keybench.runners.measuring import machine
from keybench.runners.options import Options, server_names
from keybench.runners.planning import writer_chart
from keybench.runners.planning.server_choice import resolve
from keybench.runners.planning.trial_plan import Request, plan


def dry_run(options: Options, console: Console) -> int:
    """Prints when each writer is busy, the trials, and the disk space they need; starts nothing."""
    request, _ = options.request()
    trials = plan(request)
    announce(request, trials, trials, console)
    _notes(options, request, console)
    for line in writer_chart.lines(request.scenario, trials[0].rows):
        say(console, line)
    for trial in trials:
        say(console, f"  block {trial.block}: {trial.label}, {trial.rows:,} rows")
    return 0


def start(options: Options, results: str, console: Console, *, debug: bool) -> int:
    """Records a new run in the results database and measures it; the command's exit code.

    With `debug`, tracebacks of unexpected exceptions are printed.
    """
    request, servers = options.request()
    plan(request)  # refuses what cannot be planned before anything is recorded
    _notes(options, request, console)
    with Store.open(results, write=True) as store:
        run_id = new_run_id()
        store.add_run(
            Run(
                id=run_id,
                started=datetime.now(UTC),
                keybench=keybench.__version__,
                command=command_line(sys.argv[1:]),
                seed=request.seed,
                blocks=request.blocks,
                scenario=request.scenario.name,
                profile=request.profile,
                definition=request.to_json(),
                machine=machine.describe(),
            )
        )
        return _finish(execute(request, store, run_id, servers, console, debug=debug), run_id, results, console)


def _notes(options: Options, request: Request, console: Console) -> None:
    for note in options.notes(request):
        say(console, note)


def resume(name: str, server: list[str], results: str, console: Console, *, debug: bool) -> int:
    """Measures the trials of a recorded run that are still missing; the command's exit code.

    `server` may give the URLs of the run's servers again, with their passwords.
    """
    with Store.open(results, write=True, create=False) as store:
        run = store.run(name)
        request = Request.from_json(run.definition)
        servers = resolve(request.databases, server_names(server)) if server else dict(request.servers)
        if any(without_password(servers[name]) != without_password(used) for name, used in request.servers.items()):
            raise UsageError(
                f"--resume: the run used {request.servers}; only a password may be given again with --server."
            )
        if run.keybench != keybench.__version__:
            store.warn(run.id, f"begun with keybench {run.keybench}, resumed with {keybench.__version__}")
        return _finish(execute(request, store, run.id, servers, console, debug=debug), run.id, results, console)


def _finish(code: int, run_id: str, results: str, console: Console) -> int:
    option = "" if results == config.RESULTS else f" --results {without_password(results)}"
    say(console, f"next: keybench report {run_id}{option} -o report.html")
    return code


def command_line(arguments: list[str], command: str = "run") -> str:
    """The command line without passwords, so that it may be shown and stored.

    `arguments` begin with `run` for `keybench run`, and with the first option for `python -m runners.run`.
    """
    options = arguments[1:] if arguments[:1] == [command] else arguments
    return " ".join([f"keybench {command}", *map(argument_without_password, options)])
