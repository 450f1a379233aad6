"""The runs of a verification: one for each load that the engine's questions name."""

from __future__ import annotations

import shutil
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Final, Literal

from keybench.databases.contract.engine import Engine
from keybench.databases.contract.options import ContainerOptions
from keybench.databases.contract.questions import Load
from keybench.databases.hosting import docker_api, docker_daemon
from keybench.databases.hosting.container import KIND
from keybench.databases.registry import engine, engines
from keybench.errors import EnvironmentMissing, UsageError
from keybench.locked_folder import base_directory
from keybench.model.names import COMPUTED
from keybench.model.url import is_url
from keybench.results.store.database import Store
from keybench.results.store.records import Run
from keybench.runners import estimate
from keybench.runners.launch import request_of as request_of_run
from keybench.runners.measuring import machine
from keybench.runners.options import GIB, RunOptions
from keybench.runners.planning.server_choice import AUTO, resolve
from keybench.runners.planning.trial_plan import Request, plan

Size = Literal["full", "quick"]
QUICK_SHARE, FEWEST_ROWS = 10, 1_000
"""A quick verification has a tenth of the rows, but not fewer than these (or the load's own)."""
LATEST = "latest"


@dataclass(frozen=True)
class Choices:
    """What the user chose."""

    server: str = AUTO
    """A kind of server, or a URL with its password."""
    image: str = ""
    memory_bytes: int = ContainerOptions.memory_bytes
    cpus: float = ContainerOptions.cpus
    size: Size = "full"
    trial_timeout: float = 3600.0


def engine_to_verify(name: str) -> Engine:
    """The engine of that name. UsageError if there is none, or if it declares no questions."""
    on = engine(name)
    if not on.questions:
        having = ", ".join(sorted(known.name for known in engines().values() if known.questions))
        raise UsageError(
            f"{on.title} declares no questions, so there is nothing to verify: {having} do. docs/engines.md says how "
            "an engine declares them."
        )
    return on


def loads_of(on: Engine) -> tuple[Load, ...]:
    """The loads of all its questions, each once, in the order in which they are first named."""
    return tuple(dict.fromkeys(load for question in on.questions for load in question.loads))


def server_for(on: Engine, asked: str) -> str:
    """The server to verify: its kind, or its URL. Raises UsageError or EnvironmentMissing with the next step.

    `auto` takes a container only if nothing else can be had: keybench reads less from a container.
    """
    if asked in COMPUTED:
        raise UsageError(
            f"--server {asked}: a verification compares the page model with a server. "
            + (f"Choose one of {', '.join(on.servers)}, or give a URL." if on.servers else "Give a URL.")
        )
    if asked == AUTO and on.servers == (KIND,) and (reason := docker_daemon.unreachable()):
        own = f", or give the URL of a server of yours: --server {on.url_schemes[0]}://user@host" * bool(on.url_schemes)
        raise EnvironmentMissing(
            f"{on.title} is verified in a container, and no Docker daemon answers at {docker_daemon.address()} "
            f"({reason}): start Docker and give the command again{own}."
        )
    if asked == AUTO:
        reasons = {kind: on.missing(kind) for kind in sorted(on.servers or ("",), key=lambda kind: kind == KIND)}
        if all(reasons.values()):
            raise EnvironmentMissing("\n".join([f"no {on.title} server can be started here:", *reasons.values()]))
        return next(kind for kind, reason in reasons.items() if not reason)
    return resolve((on.name,), (asked,))[on.name]


def requests(on: Engine, choices: Choices, verification: str) -> tuple[Mapping[Load, Request], str]:
    """(the request of each load, the server with its password). Raises what `server_for` and a run's options raise."""
    server = server_for(on, choices.server)
    made: dict[Load, Request] = {}
    used: Mapping[str, str] = {}
    for load in loads_of(on):
        options = RunOptions(
            db=on.name,
            layout=",".join(load.layouts),
            scenario=load.scenario,
            server=[server],
            column=",".join(load.columns),
            rows=_rows(load, choices.size),
            writers=load.writers,
            blocks=1,
            image=f"{on.name}={choices.image}" if choices.image else "",
            memory=choices.memory_bytes / GIB,
            cpus=choices.cpus,
            trial_timeout=choices.trial_timeout,
        )
        request, used = request_of_run(options)
        mark = {"id": verification, "load": load.name, "size": choices.size}
        made[load] = replace(request, verification=mark)
    return made, used[on.name]


def _rows(load: Load, size: Size) -> int:
    return max(load.rows // QUICK_SHARE, min(load.rows, FEWEST_ROWS)) if size == "quick" else load.rows


def recorded(store: Store, name: str) -> tuple[str, list[Run]]:
    """(id, runs) of the verification whose id, or one of whose runs' ids, begins with `name`; or of the `latest`.

    Raises UsageError if there is none, or more than one.
    """
    by_id: dict[str, list[Run]] = {}
    for run in store.runs():
        if (mark := mark_of(run)) is not None:
            by_id.setdefault(mark["id"], []).append(run)
    if not by_id:
        raise UsageError("these results hold no verification: start one with `keybench verify DATABASE`.")
    if name == LATEST:
        return list(by_id.items())[-1]
    found = [own for own, runs in by_id.items() if any(each.startswith(name) for each in (own, *(r.id for r in runs)))]
    if len(found) != 1:
        problem = f"--resume {name} fits {len(found)} verifications" if found else f"there is no verification {name!r}"
        raise UsageError(f"{problem}: use latest, or one of {', '.join(by_id)}.")
    return found[0], by_id[found[0]]


def mark_of(run: Run) -> Mapping[str, str] | None:
    """What a run says of the verification that it is part of; None for any other run."""
    mark = run.definition.get("verification")
    right = isinstance(mark, dict) and all(isinstance(mark.get(name), str) for name in ("id", "load", "size"))
    return mark if right and isinstance(mark, dict) else None


def request_of(run: Run) -> Request:
    """What a recorded run of a verification was to measure. UsageError if that is damaged."""
    request = Request.from_json(run.definition)
    if len(request.databases) != 1 or request.databases[0] not in request.servers:
        raise UsageError(f"run {run.id} is damaged in the results: start again with `keybench verify DATABASE`.")
    return request


def choices_of(run: Run, server: str) -> tuple[Engine, Choices]:
    """The engine and the choices of a recorded verification, by one of its runs. `server` may repeat its URL with the
    password."""
    request, mark = request_of(run), mark_of(run)
    (name,) = request.databases
    used = request.servers[name]
    given = server if is_url(server) and is_url(used) else used
    size: Size = "quick" if mark and mark["size"] == "quick" else "full"
    images = request.images.get(name, "")
    return engine(name), Choices(given, images, request.memory, request.cpus, size, request.trial_timeout)


_MORE_DISK: Final[Mapping[estimate.Place, str]] = {
    "machine": "set KEYBENCH_TMP to a folder with more room",
    "docker": "give Docker more room (docker system df shows what it holds)",
}


def check_room(on: Engine, made: Iterable[Request], size: Size) -> None:
    """EnvironmentMissing, before anything starts, if the largest trial of all loads has too little disk or memory."""
    planned = [(request, plan(request)) for request in made]
    less = " or add --quick," if size == "full" else ""
    for place, more in _MORE_DISK.items():
        need = max(estimate.disk_bytes(request, trials, place) for request, trials in planned)
        folder = base_directory() if place == "machine" else docker_api.data_folder() if need else None
        if not need or folder is None:
            continue
        free = shutil.disk_usage(folder).free
        if need + estimate.HEAD_ROOM > free:
            raise EnvironmentMissing(
                f"verifying {on.title} needs about {estimate.gigabytes(need)} of disk, and "
                f"{estimate.gigabytes(estimate.HEAD_ROOM)} must stay free, but {folder} has {estimate.gigabytes(free)}:"
                f" make room,{less} or {more}."
            )
    memory = max(estimate.memory_bytes(request, one, one.rows) for request, trials in planned for one in trials)
    available = machine.available_memory()
    if memory > available:
        raise EnvironmentMissing(
            f"verifying {on.title} needs about {estimate.gigabytes(memory)} of memory, and "
            f"{estimate.gigabytes(available)} are available: end other programs,{less} or use a machine with more "
            "memory."
        )
