"""A verification: a run for each load that an engine's questions name, the verdicts, and the file to send in."""

import zipfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

from rich.console import Console

import keybench
from keybench.databases.contract.engine import DESCRIBED, Engine
from keybench.databases.contract.questions import QuestionLoad
from keybench.databases.hosting import docker_daemon
from keybench.databases.hosting.container import KIND
from keybench.databases.registry import engine, engines
from keybench.errors import EnvironmentMissing, KeybenchError, UsageError
from keybench.locked_folder import base_directory, locked_folder
from keybench.model.names import COMPUTED
from keybench.results.atomic_file import STANDARD_OUTPUT, atomic_file
from keybench.results.bundle.writing import write_bundle
from keybench.results.store.database import Store
from keybench.runners.execute import execute
from keybench.runners.launch import add_run, request_of
from keybench.runners.options import RunOptions
from keybench.runners.planning.server_choice import AUTO, resolve
from keybench.runners.planning.trial_plan import Request, plan
from keybench.runners.progress import say
from keybench.runners.verify.verdicts import WORDS, LoadProgress, QuestionVerdict, verdicts

DIFFERS: Final = 1
INCONCLUSIVE: Final = 3
"""Exit codes: a verdict differs or a trial failed; something could not be measured."""
_QUICK_DIVISOR, _FEWEST_ROWS = 10, 1_000
"""A quick verification has a tenth of the rows, but not fewer than these (or the load's own)."""

_ABOUT = """\
The answers of {title} to the questions of keybench {version}.

verdicts.txt      each question with its verdict and its meaning
keybench-….zip    the runs: values, versions and settings of the server, as `keybench export RUN --bundle` writes them

There are no passwords, paths, or names of hosts and users in it, no messages of errors, and no absolute times of SQL
Server and Oracle, whose licences restrict publishing them. Look through it before you send it, as an issue of the
repository that you have keybench from, with the template "verification". Verdicts and page counts may be published.
"""


@dataclass(frozen=True)
class Verification:
    """What is to be measured."""

    on: Engine
    requests: Mapping[QuestionLoad, Request]
    server: str
    """The server's kind, or its URL with the password."""


def engine_to_verify(name: str) -> Engine:
    """The engine of that name. UsageError if there is none, or if it declares no questions."""
    on = engine(name)
    if not on.questions:
        asking = ", ".join(sorted(known.name for known in engines().values() if known.questions))
        raise UsageError(
            f"{on.title} declares no questions, so there is nothing to verify: {asking} do. docs/engines.md says how "
            "an engine declares them."
        )
    return on


def loads_of(on: Engine) -> tuple[QuestionLoad, ...]:
    """The loads of all its questions, each once, in the order in which they are first named."""
    return tuple(dict.fromkeys(load for question in on.questions for load in question.loads))


def begin(database: str, options: RunOptions, *, quick: bool) -> Verification:
    """A new verification; `options` are its server, image, memory, processors and time limit. Raises UsageError or
    EnvironmentMissing if it cannot be done here. Nothing is recorded yet."""
    on = engine_to_verify(database)
    server = _server_for(on, options.servers[0])
    requests: dict[QuestionLoad, Request] = {}
    servers: Mapping[str, str] = {}
    for load in loads_of(on):
        rows = max(load.rows // _QUICK_DIVISOR, min(load.rows, _FEWEST_ROWS)) if quick else load.rows
        requests[load], servers = request_of(  # the servers are the same for each load
            replace(
                options,
                db=on.name,
                layout=",".join(load.layouts),
                scenario=load.scenario,
                server=[server],
                column=",".join(load.columns),
                rows=rows,
                writers=load.writers,
                blocks=1,
                image=f"{on.name}={options.image}" if options.image else "",
            )
        )
    return Verification(on, requests, servers[on.name])


def _server_for(on: Engine, asked: str) -> str:
    """The server to verify: its kind, or its URL. Raises UsageError or EnvironmentMissing with the next step. `auto`
    takes a container only if nothing else can be had: keybench reads less from a container."""
    if asked in COMPUTED:
        raise UsageError(
            f"--server {asked}: a verification compares the page model with a server. "
            + (f"Choose one of {', '.join(on.servers)}, or give a URL." if on.servers else "Give a URL.")
        )
    if asked != AUTO:
        return resolve((on.name,), (asked,))[on.name]
    if on.servers == (KIND,) and (reason := docker_daemon.unreachable()):
        example = f"--server {on.url_schemes[0]}://user@host" if on.url_schemes else ""
        instead = f", or give the URL of a server of yours: {example}" if example else ""
        raise EnvironmentMissing(
            f"{on.title} is verified in a container, and no Docker daemon answers at {docker_daemon.address()} "
            f"({reason}): start Docker and give the command again{instead}."
        )
    # The container comes last: False sorts before True. "" asks why keybench starts no server of the engine at all.
    reasons = {kind: on.missing(kind) for kind in sorted(on.servers or ("",), key=lambda kind: kind == KIND)}
    if all(reasons.values()):
        raise EnvironmentMissing("\n".join([f"no {on.title} server can be started here:", *reasons.values()]))
    return next(kind for kind, reason in reasons.items() if not reason)


def perform(
    this: Verification, store: Store, console: Console, command: str, output: Path | None, *, debug: bool
) -> int:
    """Measures each load, prints the verdicts, writes the file; returns the command's exit code."""
    path = output or Path(f"keybench-verify-{this.on.name}.zip")
    if str(path) in STANDARD_OUTPUT or (path.exists() and not path.is_file()) or not path.parent.is_dir():
        raise UsageError(f"--output {path} cannot be written: name a file in a folder that exists.")
    trials = [trial for request in this.requests.values() for trial in plan(request)]
    server = next(iter(this.requests.values())).servers[this.on.name]  # without its password
    say(
        console,
        f"verification of {this.on.title} ({server}): {len(this.on.questions)} questions, {len(this.requests)} loads, "
        f"{len(trials)} trials, {sum(trial.rows for trial in trials):,} rows",
    )
    loads = _measured(this, store, console, command, debug=debug)
    # the verdicts, printed and stored as warnings of the runs that gave them
    answers = verdicts(this.on, loads)
    say(console, "")
    for answer in answers:
        say(console, answer.line)
        for load in answer.question.loads:
            if loads[load].run_id:
                store.warn(loads[load].run_id, f"keybench verify, {answer.line}.")
    equal, differ, unmeasured = (sum(answer.outcome == outcome for answer in answers) for outcome in WORDS)  # in order
    counted = f"{equal} equal, {differ} differ{'s' if differ == 1 else ''}, {unmeasured} could not be measured"
    say(console, f"\n{this.on.title}: {counted}")
    runs = [load.run_id for load in loads.values() if load.run_id]
    if another := _another_make(this.on, store, runs):
        say(console, f"nothing to send in: this server says that it is {another!r}, not {this.on.make}.")
        return INCONCLUSIVE
    _write(path, this.on, store, runs, answers)
    say(console, f"to send in: {path} (its README.txt says what is in it and where to send it)")
    if any(answer.outcome == "differs" or answer.failed for answer in answers):
        return DIFFERS
    return INCONCLUSIVE if any(answer.outcome == "not measured" for answer in answers) else 0


def _another_make(on: Engine, store: Store, runs: Sequence[str]) -> str:
    """What a server of these runs says that it is, if it is another product with the engine's protocol; else empty."""
    described = (one.versions.get(DESCRIBED, "") for run in runs for one in store.environments(run))
    return next((text for text in described if not text.startswith(on.make)), "")


def _measured(
    this: Verification, store: Store, console: Console, command: str, *, debug: bool
) -> dict[QuestionLoad, LoadProgress]:
    """The progress of each load. An error of the first stops all; one of a later load leaves it without trials."""
    loads: dict[QuestionLoad, LoadProgress] = {}
    for number, (load, request) in enumerate(this.requests.items(), start=1):
        say(console, f"\nload {number} of {len(this.requests)}: {load.name}")
        run_id = add_run(store, request, command)
        try:
            execute(request, store, run_id, {this.on.name: this.server}, console, debug=debug)
        except KeybenchError as error:
            if not loads:
                raise
            say(console, f"this load could not be measured: {error}")
            if not store.done(run_id):  # `execute` has removed the run, as no trial of it was recorded
                run_id = ""
        loads[load] = LoadProgress(request, run_id, plan(request), store.trials(run_id) if run_id else ())
    return loads


def _write(path: Path, on: Engine, store: Store, runs: Sequence[str], answers: Sequence[QuestionVerdict]) -> None:
    """Writes verdicts and the runs' bundles into one file, atomically. Raises UsageError if it cannot be written."""
    lines = [f"{on.title}, keybench {keybench.__version__}", ""]
    for one in answers:
        # why something was not measured may be a server's own message, which is not sent in
        public = replace(one, evidence="") if one.outcome == "not measured" else one
        lines += [public.line, f"    {one.question.meaning}", ""]
    texts = {
        "README.txt": _ABOUT.format(title=on.title, version=keybench.__version__),
        "verdicts.txt": "\n".join(lines),
    }
    with (
        locked_folder(base_directory(), "verify") as folder,
        atomic_file(path, "give --output another file") as part,
        zipfile.ZipFile(part, "w", zipfile.ZIP_DEFLATED) as archive,
    ):
        for name, text in texts.items():
            archive.writestr(name, text)
        for run in runs:
            bundle = write_bundle(store, run, Path(folder) / f"keybench-{run}.zip")
            archive.write(bundle, bundle.name)
