"""A verification: a run for each load that an engine's questions name, the verdicts, and the file to send in."""

import json
import tempfile
import zipfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final

from rich.console import Console

import keybench
from keybench.databases.contract.engine import Engine
from keybench.databases.contract.questions import QuestionLoad
from keybench.databases.hosting import docker_daemon
from keybench.databases.hosting.container import KIND
from keybench.databases.registry import engine, engines
from keybench.errors import EnvironmentMissing, KeybenchError, UsageError
from keybench.model.names import COMPUTED
from keybench.model.url import is_url
from keybench.results.atomic_file import atomic_file
from keybench.results.bundle.writing import write_bundle
from keybench.results.store.database import Store
from keybench.results.store.records import Run, new_run_id
from keybench.runners.execute import execute
from keybench.runners.launch import add_run, request_of
from keybench.runners.options import GIB, RunOptions
from keybench.runners.planning.server_choice import AUTO, resolve
from keybench.runners.planning.trial_plan import Request, plan
from keybench.runners.progress import say
from keybench.runners.verify.verdicts import WORDS, LoadProgress, QuestionVerdict, verdicts

DIFFERS: Final = 1
INCONCLUSIVE: Final = 3
_QUICK_SHARE, _FEWEST_ROWS = 10, 1_000
"""A quick verification has a tenth of the rows, but not fewer than these (or the load's own)."""

_ABOUT = """\
The answers of {title} to the questions of keybench {version}.

verdicts.txt      each question with its verdict and its meaning
verdicts.json     the same for programs
keybench-….zip    the runs: values, versions and settings of the server, as `keybench export RUN --bundle` writes them

There are no passwords, paths, or names of hosts and users in it, no messages of errors, and no absolute times of SQL
Server and Oracle, whose licences restrict publishing them. Look through it before you send it, as an issue of the
repository that you have keybench from, with the template "verification". Verdicts and page counts may be published.
"""


@dataclass(frozen=True)
class Verification:
    """What is to be measured, and what has begun."""

    id: str
    on: Engine
    requests: Mapping[QuestionLoad, Request]
    server: str
    """The server's kind, or its URL with the password."""
    runs: dict[str, str]
    """The run of each load that has begun, by the load's name."""


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
    """A new verification; `options` are its server, image, memory, processors and time limit.

    Raises UsageError or EnvironmentMissing if it cannot be done here. Nothing is recorded yet.
    """
    on = engine_to_verify(database)
    requests, server = _requests(on, options, new_run_id(), quick=quick)
    identity = next(iter(requests.values())).verification["id"]
    return Verification(identity, on, requests, server, {})


def recorded(store: Store, name: str, database: str, server: str) -> Verification:
    """The verification whose id, or one of whose runs' ids, begins with `name`; or the `latest`.

    `database` may be named again, or left empty; `server` may repeat the URL, with its password. Raises UsageError if
    there is no such verification, or more than one.
    """
    by_id: dict[str, list[Run]] = {}
    for run in store.runs():
        if mark := _mark_of(run):
            by_id.setdefault(mark["id"], []).append(run)
    if not by_id:
        raise UsageError("these results hold no verification: start one with `keybench verify DATABASE`.")
    fitting = [
        one for one, runs in by_id.items() if any(text.startswith(name) for text in (one, *(r.id for r in runs)))
    ]
    if name == "latest":
        fitting = list(by_id)[-1:]
    if len(fitting) != 1:
        problem = (
            f"--resume {name} fits {len(fitting)} verifications" if fitting else f"there is no verification {name!r}"
        )
        raise UsageError(f"{problem}: use latest, or one of {', '.join(by_id)}.")
    (identity,), runs = fitting, by_id[fitting[0]]
    requests = {_mark_of(run)["load"]: _request_of(run) for run in runs}
    first = requests[_mark_of(runs[0])["load"]]
    on = engine(first.databases[0])
    if database not in ("", on.name):
        raise UsageError(f"verification {identity} is of {on.name}: leave {database} out.")
    used = first.servers[on.name]
    options = RunOptions(
        server=[server if is_url(server) and is_url(used) else used],
        image=first.images.get(on.name, ""),
        memory=first.memory / GIB,
        cpus=first.cpus,
        trial_timeout=first.trial_timeout,
    )
    planned, with_password = _requests(on, options, identity, quick=_mark_of(runs[0])["size"] == "quick")
    for run in runs:
        if run.keybench != keybench.__version__:
            store.warn(run.id, f"begun with keybench {run.keybench}, resumed with {keybench.__version__}")
    return Verification(
        identity,
        on,
        {load: requests.get(load.name, request) for load, request in planned.items()},
        with_password,
        {_mark_of(run)["load"]: run.id for run in runs},
    )


def _mark_of(run: Run) -> Mapping[str, str]:
    """What a run says of the verification that it is part of: `id`, `load`, `size`; empty for any other run."""
    mark = run.definition.get("verification")
    fits = isinstance(mark, dict) and all(isinstance(mark.get(name), str) for name in ("id", "load", "size"))
    return mark if fits and isinstance(mark, dict) else {}


def _request_of(run: Run) -> Request:
    request = Request.from_json(run.definition)
    if len(request.databases) != 1 or request.databases[0] not in request.servers:
        raise UsageError(f"run {run.id} is damaged in the results: start again with `keybench verify DATABASE`.")
    return request


def _requests(
    on: Engine, options: RunOptions, identity: str, *, quick: bool
) -> tuple[Mapping[QuestionLoad, Request], str]:
    """(the request of each load, the server with its password)."""
    server = _server_for(on, options.servers[0] if options.servers else AUTO)
    requests: dict[QuestionLoad, Request] = {}
    used: Mapping[str, str] = {}
    for load in loads_of(on):
        rows = max(load.rows // _QUICK_SHARE, min(load.rows, _FEWEST_ROWS)) if quick else load.rows
        request, used = request_of(
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
        mark = {"id": identity, "load": load.name, "size": "quick" if quick else "full"}
        requests[load] = replace(request, verification=mark)
    return requests, used[on.name]


def _server_for(on: Engine, asked: str) -> str:
    """The server to verify: its kind, or its URL. Raises UsageError or EnvironmentMissing with the next step.

    `auto` takes a container only if nothing else can be had: keybench reads less from a container.
    """
    if asked in COMPUTED:
        raise UsageError(
            f"--server {asked}: a verification compares the page model with a server. "
            + (f"Choose one of {', '.join(on.servers)}, or give a URL." if on.servers else "Give a URL.")
        )
    if asked != AUTO:
        return resolve((on.name,), (asked,))[on.name]
    if on.servers == (KIND,) and (reason := docker_daemon.unreachable()):
        url = f", or give the URL of a server of yours: --server {on.url_schemes[0]}://user@host" * bool(on.url_schemes)
        raise EnvironmentMissing(
            f"{on.title} is verified in a container, and no Docker daemon answers at {docker_daemon.address()} "
            f"({reason}): start Docker and give the command again{url}."
        )
    reasons = {kind: on.missing(kind) for kind in sorted(on.servers or ("",), key=lambda kind: kind == KIND)}
    if all(reasons.values()):
        raise EnvironmentMissing("\n".join([f"no {on.title} server can be started here:", *reasons.values()]))
    return next(kind for kind, reason in reasons.items() if not reason)


def perform(
    this: Verification, store: Store, console: Console, command: str, output: Path | None, *, debug: bool
) -> int:
    """Measures each load that is not complete, prints the verdicts, writes the file; the command's exit code.

    An interruption is raised as KeyboardInterrupt, after the verdicts so far have been printed and written.
    """
    path = output or Path(f"keybench-verify-{this.on.name}-{this.id}.zip")
    if path.is_dir() or not path.parent.is_dir():
        raise UsageError(f"--output {path} cannot be written: name a file in a folder that exists.")
    trials = {load: plan(request) for load, request in this.requests.items()}
    rows = sum(one.rows for planned in trials.values() for one in planned)
    say(
        console,
        f"verification {this.id} of {this.on.title} ({_server_shown(this)}): {len(this.on.questions)} questions, "
        f"{len(trials)} loads, {sum(map(len, trials.values()))} trials, {rows:,} rows",
    )
    say(console, f"Ctrl-C keeps what has been measured. Go on with: keybench verify --resume {this.id}")
    try:
        _measure(this, store, console, command, debug=debug)
    except KeyboardInterrupt:
        if this.runs:
            _finish(this, store, console, path)
            say(console, f"go on with: keybench verify --resume {this.id}")
        raise
    answers = _finish(this, store, console, path)
    if any(one.outcome == "differs" or one.failed for one in answers):
        return DIFFERS
    return INCONCLUSIVE if any(one.outcome == "not measured" for one in answers) else 0


def _server_shown(this: Verification) -> str:
    """The server without its password."""
    return next(iter(this.requests.values())).servers[this.on.name]


def _measure(this: Verification, store: Store, console: Console, command: str, *, debug: bool) -> None:
    """Runs each load. What stops the first load stops them all."""
    measured = False
    for number, (load, request) in enumerate(this.requests.items(), start=1):
        say(console, f"\nload {number} of {len(this.requests)}: {load.name}")
        run_id = this.runs.setdefault(load.name, "") or add_run(store, request, command)
        this.runs[load.name] = run_id
        try:
            execute(request, store, run_id, {this.on.name: this.server}, console, debug=debug)
            measured = True
        except (KeybenchError, KeyboardInterrupt) as error:
            if not store.done(run_id):  # execute has removed the empty run
                del this.runs[load.name]
            if not measured or isinstance(error, KeyboardInterrupt):
                raise
            say(console, f"this load could not be measured: {error}")


def _finish(this: Verification, store: Store, console: Console, path: Path) -> list[QuestionVerdict]:
    """Prints the verdicts, stores them with the runs that gave them, and writes the file to send in."""
    loads = {
        load: LoadProgress.of(request, this.runs.get(load.name, ""), store) for load, request in this.requests.items()
    }
    answers = verdicts(this.on, loads)
    say(console, "")
    for one in answers:
        say(console, one.line)
    if all(len(load.trials) == len(load.planned) for load in loads.values()):
        for one in answers:
            for load in one.question.loads:
                store.warn(loads[load].run_id, f"keybench verify, {one.line}.")
    equal, differ, unmeasured = (sum(one.outcome == word for one in answers) for word in WORDS)
    say(
        console,
        f"\n{this.on.title}: {equal} equal, {differ} differ{'s' if differ == 1 else ''}, {unmeasured} could not be "
        "measured",
    )
    _write(path, this.on, store, [load.run_id for load in loads.values() if load.trials], answers)
    say(console, f"to send in: {path} (its README.txt says what is in it and where to send it)")
    return answers


def _write(path: Path, on: Engine, store: Store, runs: Sequence[str], answers: Sequence[QuestionVerdict]) -> None:
    """Writes verdicts and the runs' bundles into one file, atomically. Raises UsageError if it cannot be written."""
    lines = [f"{on.title}, keybench {keybench.__version__}", ""]
    for one in answers:
        lines += [replace(one, evidence=_public_evidence(one)).line, f"    {one.question.meaning}", ""]
    texts = {
        "README.txt": _ABOUT.format(title=on.title, version=keybench.__version__),
        "verdicts.txt": "\n".join(lines),
        "verdicts.json": json.dumps(_as_json(on, answers), ensure_ascii=False, indent=2) + "\n",
    }
    try:
        with (
            tempfile.TemporaryDirectory(prefix="keybench-verify-") as folder,
            atomic_file(path) as part,
            zipfile.ZipFile(part, "w", zipfile.ZIP_DEFLATED) as archive,
        ):
            for name, text in texts.items():
                archive.writestr(name, text)
            for run in runs:
                bundle = write_bundle(store, run, Path(folder) / f"keybench-{run}.zip")
                archive.write(bundle, bundle.name)
    except OSError as error:
        raise UsageError(f"{path} cannot be written ({error.strerror}): give --output another file.") from None


def _public_evidence(one: QuestionVerdict) -> str:
    """The evidence that is sent in: none where nothing was measured, because the reason may be a server's message."""
    return "" if one.outcome == "not measured" else one.evidence


def _as_json(on: Engine, answers: Sequence[QuestionVerdict]) -> dict[str, Any]:
    return {
        "database": on.name,
        "keybench": keybench.__version__,
        "verdicts": [
            {
                "question": one.question.statement,
                "verdict": one.outcome,
                "evidence": _public_evidence(one),
                "trials": one.trials,
                "meaning": one.question.meaning,
                "loads": [load.name for load in one.question.loads],
            }
            for one in answers
        ],
    }
