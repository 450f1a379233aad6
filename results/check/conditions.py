"""The conditions under which a run measured: its work, server version, settings and kind of machine."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from keybench.model.names import COMPUTED
from keybench.results.check.baseline import Conditions
from keybench.results.store.records import Environment, Run, Trial

_GIB = 1 << 30


def work_of(run: Run, trial: Trial) -> Conditions:
    """The work of the trial."""
    table = _inside(run.definition, "scenario", "table")
    return {
        "database": trial.database,
        "server": trial.server,
        "scenario": trial.scenario,
        "rows": trial.rows,
        "payload": _payload(table, trial.payload),
        "key": str(table.get("key", "clustered")),
        "writers": trial.writers,
        "rows_per_tx": trial.rows_per_tx,
        "load_path": run.load_path,
    }


def server_of(run: Run, trial: Trial, on: Environment | None) -> Conditions:
    """The server's version and settings. A page model has only the settings that the user chose; empty without any."""
    if on is None:
        return {}
    if trial.server in COMPUTED:
        return {"settings": dict(sorted(on.settings.items()))} if on.settings else {}
    named = {name.lower(): text for name, text in on.versions.items()}
    version = named.get(trial.database) or "; ".join(f"{name} {text}" for name, text in sorted(on.versions.items()))
    return {"version": version, "profile": run.profile, "settings": dict(sorted(on.settings.items()))}


def machine_of(run: Run, on: Environment | None) -> Conditions:
    """The kind of machine; a new kernel or Python version does not change it."""
    machine = run.machine
    memory = machine.get("memory_bytes")
    return {
        "cpu": str(machine.get("cpu", "")),
        "cores": _number(machine.get("cores")),
        "memory_gib": round(memory / _GIB) if isinstance(memory, int | float) else 0,
        "system": str(machine.get("system", "")).partition(" ")[0],
        "cache_bytes": on.cache_bytes if on else 0,
    }


def _payload(table: Mapping[str, Any], most: int) -> int | str:
    """The characters of each row; if they vary, their range and distribution."""
    listed = table.get("payload")
    for one in listed if isinstance(listed, list) else ():
        if isinstance(one, Mapping) and one.get("max") == most:
            return f"{one.get('min')}-{most}:{one.get('distribution')}"
    return most


def _number(value: object) -> int:
    return value if isinstance(value, int) else 0


def _inside(content: object, *names: str) -> Mapping[str, Any]:
    for name in names:
        content = content.get(name) if isinstance(content, Mapping) else None
    return content if isinstance(content, Mapping) else {}
