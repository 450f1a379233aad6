"""May two figures be compared: the conditions under which trials were measured, and those that differ."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from keybench.model.names import COMPUTED
from keybench.results.store.records import Environment, Run, Trial

Conditions = dict[str, str | int | float | dict[str, str]]
"""By name. A table holds conditions of one kind, such as settings."""

_GIB = 1 << 30
_WORK = ("rows", "writers", "rows_per_tx", "payload")


def work_of(run: Run, trial: Trial) -> Conditions:
    """The work of the trial, as a baseline records it."""
    payload = run.payload_range(trial.payload)
    return {
        "database": trial.database,
        "server": trial.server,
        "scenario": trial.scenario,
        "rows": trial.rows,
        "payload": f"{payload.get('min')}-{trial.payload}:{payload.get('distribution')}" if payload else trial.payload,
        "key": str(run.part("scenario", "table").get("key", "clustered")),
        "writers": trial.writers,
        "rows_per_tx": trial.rows_per_tx,
        "load_path": run.load_path,
    }


def server_of(run: Run, trial: Trial, on: Environment | None) -> Conditions:
    """The server's version and settings. A page model has only the settings that the user chose; empty without any."""
    if on is None:
        return {}
    settings = dict(sorted(on.settings.items()))
    if trial.server in COMPUTED:
        return {"settings": settings} if settings else {}
    named = {name.lower(): text for name, text in on.versions.items()}
    version = named.get(trial.database) or "; ".join(f"{name} {text}" for name, text in sorted(on.versions.items()))
    return {"version": version, "profile": run.profile, "settings": settings}


def machine_of(run: Run, on: Environment | None) -> Conditions:
    """The kind of machine; a new kernel or Python version does not change it."""
    cores = run.machine.get("cores")
    return {
        "cpu": str(run.machine.get("cpu", "")),
        "cores": cores if isinstance(cores, int) else 0,
        "memory_gib": _memory(run),
        "system": str(run.machine.get("system", "")).partition(" ")[0],
        "cache_bytes": on.cache_bytes if on else 0,
    }


def described(run: Run, trials: Sequence[Trial], on: Environment | None, *, exact: bool) -> Conditions:
    """What two runs must share so that values of an arm can be compared, under the names that a reader sees.

    Exact counts depend on the rows and on the engine's version alone, times on everything.
    """
    work: Conditions = {"scenario": run.scenario}
    for name in _WORK:
        values = sorted({getattr(trial, name) for trial in trials})
        work[name.replace("_", " ")] = ", ".join(f"{value:,}" for value in values)
    work["version"] = dict(sorted(on.versions.items())) if on else {}
    if exact:
        return work
    machine: Conditions = {
        title: str(run.machine.get(key, "unknown"))
        for key, title in (("cpu", "processor"), ("cores", "cores"), ("system", "system"), ("python", "Python"))
    }
    machine |= {"memory": f"{_memory(run)} GiB" if _memory(run) else "unknown", "keybench": run.keybench}
    machine |= {"server": trials[0].server, "profile": run.profile}
    settings = dict(sorted(on.settings.items())) if on else {}
    return machine | work | {"setting": settings, "cache": f"{on.cache_bytes:,} bytes" if on else "unknown"}


def differences(
    first: Mapping[str, Any], second: Mapping[str, Any], joint: str
) -> Iterator[tuple[str, object, object]]:
    """(name, first value, second value) of each condition that differs; None where it is unknown.

    `joint` stands between the name of a table and a name in it.
    """
    for name in dict.fromkeys([*first, *second]):
        one, other = first.get(name), second.get(name)
        if isinstance(one, dict) and isinstance(other, dict):
            yield from ((f"{name}{joint}{part}", here, there) for part, here, there in differences(one, other, joint))
        elif one != other:
            yield name, one, other


def definition_of(run: Run) -> object:
    """The scenario as the run recorded it, without its title."""
    return {key: value for key, value in run.part("scenario").items() if key != "title"}


def _memory(run: Run) -> int:
    """The machine's memory in GiB; 0 if it is unknown."""
    memory = run.machine.get("memory_bytes")
    return round(memory / _GIB) if isinstance(memory, int | float) else 0
