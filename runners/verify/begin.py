"""Starts a verification, or goes on with one that is recorded."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from pathlib import Path

import keybench
from keybench.databases.contract.engine import Engine
from keybench.databases.contract.questions import Load
from keybench.errors import UsageError
from keybench.results.store.database import Store
from keybench.results.store.records import new_run_id
from keybench.runners.launch import command_line
from keybench.runners.planning.trial_plan import Request
from keybench.runners.verify import loads
from keybench.runners.verify.log import LoggedConsole, open_log
from keybench.runners.verify.perform import Verification, perform


def start(database: str, chosen: loads.Choices, results: str, output: Path | None, *, debug: bool) -> int:
    """Verifies a database from the beginning; the command's exit code.

    Raises UsageError or EnvironmentMissing, before anything is recorded, if that cannot be done here.
    """
    on = loads.engine_to_verify(database)
    verification = new_run_id()
    work = _work(on, chosen, verification)
    with Store.open(results, write=True) as store:
        return _perform(verification, on, work, {}, store, output, debug=debug)


def resume(name: str, database: str, server: str, results: str, output: Path | None, *, debug: bool) -> int:
    """Goes on with a recorded verification; the command's exit code.

    `database` may be named again, or left empty; `server` may repeat the URL, with its password.
    """
    with Store.open(results, write=True, create=False) as store:
        verification, runs = loads.recorded(store, name)
        on, chosen = loads.choices_of(runs[0], server)
        if database not in ("", on.name):
            raise UsageError(f"verification {verification} is of {on.name}: leave {database} out.")
        begun = {mark["load"]: run for run in runs if (mark := loads.mark_of(run))}
        for run in runs:
            if run.keybench != keybench.__version__:
                store.warn(run.id, f"begun with keybench {run.keybench}, resumed with {keybench.__version__}")
        requests, used = _work(on, chosen, verification)
        as_begun = {load: loads.request_of(begun[load.name]) for load in requests if load.name in begun}
        ids = {name: run.id for name, run in begun.items()}
        return _perform(verification, on, ({**requests, **as_begun}, used), ids, store, output, debug=debug)


_Work = tuple[Mapping[Load, Request], str]
"""The request of each load, and the server with its password."""


def _work(on: Engine, chosen: loads.Choices, verification: str) -> _Work:
    requests, server = loads.requests(on, chosen, verification)
    loads.check_room(on, requests.values(), chosen.size)
    return requests, server


def _perform(
    verification: str,
    on: Engine,
    work: _Work,
    begun: Mapping[str, str],
    store: Store,
    output: Path | None,
    *,
    debug: bool,
) -> int:
    requests, server = work
    bundle = output or Path(f"keybench-verify-{on.name}-{verification}.zip")
    line = command_line(sys.argv[1:], "verify")
    with open_log(bundle) as log:
        this = Verification(verification, on, requests, server, begun, line, bundle, Path(log.name))
        return perform(this, store, LoggedConsole(log), debug=debug)
