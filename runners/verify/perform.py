"""Runs a verification: measures each load that is not complete, prints the verdicts, and writes the bundle."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from keybench.databases.contract.engine import Engine
from keybench.databases.contract.questions import Load
from keybench.errors import KeybenchError
from keybench.results.store.database import Store
from keybench.runners.execute import execute, say
from keybench.runners.launch import add_run
from keybench.runners.planning.trial_plan import Request, plan
from keybench.runners.verify.bundle import write_bundle
from keybench.runners.verify.findings import WORDS, Finding, LoadState, findings
from keybench.runners.verify.log import LoggedConsole

DIFFERS: Final = 1
INCONCLUSIVE: Final = 3


@dataclass(frozen=True)
class Verification:
    """What is to be measured, and where it goes."""

    id: str
    on: Engine
    requests: Mapping[Load, Request]
    server: str
    """The server's kind, or its URL with the password."""
    begun: Mapping[str, str]
    """The run of each load that has begun, by the load's name."""
    command: str
    bundle: Path
    log: Path


def perform(this: Verification, store: Store, console: LoggedConsole, *, debug: bool) -> int:
    """Measures, prints verdicts, writes the bundle; the command's exit code.

    An interruption is raised as KeyboardInterrupt, after the verdicts so far have been printed and written.
    """
    trials = {load: plan(request) for load, request in this.requests.items()}
    rows = sum(one.rows for planned in trials.values() for one in planned)
    say(
        console,
        f"verification {this.id} of {this.on.title} ({_shown_server(this)}): {len(this.on.questions)} questions, "
        f"{len(trials)} loads, {sum(map(len, trials.values()))} trials, {rows:,} rows",
    )
    say(console, f"Ctrl-C keeps what has been measured. Go on with: keybench verify --resume {this.id}")
    begun = dict(this.begun)
    try:
        _measure(this, begun, store, console, debug=debug)
    except KeyboardInterrupt:
        if begun:
            _finish(this, begun, store, console)
            say(console, f"go on with: keybench verify --resume {this.id}")
        else:
            this.log.unlink(missing_ok=True)
        raise
    except KeybenchError:
        if not begun:
            this.log.unlink(missing_ok=True)
        raise
    verdicts = _finish(this, begun, store, console)
    this.log.unlink(missing_ok=True)  # the bundle has it
    if any(one.outcome == "differs" or one.failed for one in verdicts):
        return DIFFERS
    return INCONCLUSIVE if any(one.outcome == "not measured" for one in verdicts) else 0


def _shown_server(this: Verification) -> str:
    return next(iter(this.requests.values())).servers[this.on.name]


def _measure(this: Verification, begun: dict[str, str], store: Store, console: LoggedConsole, *, debug: bool) -> None:
    """Runs each load. `begun` gets the run of each."""
    measured = False
    for number, (load, request) in enumerate(this.requests.items(), start=1):
        say(console, f"\nload {number} of {len(this.requests)}: {load.name}")
        run_id = begun.get(load.name) or add_run(store, request, this.command)
        begun[load.name] = run_id
        try:
            execute(request, store, run_id, {this.on.name: this.server}, console, debug=debug)
            measured = True
        except KeybenchError as error:
            if not store.done(run_id):
                del begun[load.name]
            if not measured:  # what stops the first load stops them all
                raise
            say(console, f"this load could not be measured: {error}")
        except KeyboardInterrupt:
            if not store.done(run_id):
                del begun[load.name]
            raise


def _finish(this: Verification, begun: Mapping[str, str], store: Store, console: LoggedConsole) -> list[Finding]:
    """Prints the verdicts, stores them with the runs that gave them, and writes the bundle."""
    states = {load: LoadState.of(request, begun.get(load.name, ""), store) for load, request in this.requests.items()}
    verdicts = findings(this.on, states)
    say(console, "")
    for one in verdicts:
        say(console, one.line)
    runs = [state.run_id for state in states.values() if state.run_id]
    if all(len(state.trials) == len(state.planned) for state in states.values()):
        for one in verdicts:
            for load in one.question.loads:
                store.warn(states[load].run_id, f"keybench verify, {one.line}.")
    equal, differ, open_ = (sum(one.outcome == word for one in verdicts) for word in WORDS)
    say(
        console,
        f"\n{this.on.title}: {equal} equal, {differ} differ{'s' if differ == 1 else ''}, {open_} could not be measured",
    )
    write_bundle(this.bundle, this.on, store, runs, verdicts, this.log, _shown_server(this))
    say(console, f"to send in: {this.bundle} (its README.txt says what is in it and where to send it)")
    return verdicts
