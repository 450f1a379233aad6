"""The comparison behind `check`, `compare` and `claims`: conditions, and changes over blocks.

Changes are exact, or ratios with their intervals and a joint p-value. Samples are logarithms by block (`logs`): twice
as slow and half as slow are equally far from 1. Blocks of one run are pairs; blocks of two runs are independent.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import isclose, log, nan
from typing import Any, Literal

import numpy as np

from keybench.model.metric import Metric
from keybench.results.analysis.bootstrap import Floats
from keybench.results.analysis.groups import Group
from keybench.results.analysis.p_values import shuffle_max, sign_flip_max
from keybench.results.analysis.ratios import ByBlock, RatioEstimate, estimate, estimate_between
from keybench.results.store.records import Environment, Run, Trial

Conditions = dict[str, str | int | float | dict[str, str]]
"""By name. A table holds conditions of one kind, such as settings."""

_GIB = 1 << 30
_WORK = ("rows", "writers", "rows_per_tx", "payload")
"""Fields of a trial that both runs must have alike."""


def work_of(group: Group) -> Conditions:
    """The work of the group's trials, as a baseline records it."""
    run, trial = group.run, group.trials[0]
    varying = run.payload_range(trial.payload)  # empty if all rows have the same payload
    return {
        "database": trial.database,
        "server": trial.server,
        "scenario": trial.scenario,
        "rows": trial.rows,
        "payload": f"{varying.get('min')}-{trial.payload}:{varying.get('distribution')}" if varying else trial.payload,
        "key": str(run.part("scenario", "table").get("key", "clustered")),
        "writers": trial.writers,
        "rows_per_tx": trial.rows_per_tx,
        "load_path": run.load_path,
    }


def server_of(group: Group) -> Conditions:
    """The server's version and settings. A page model has only the settings that the user chose; empty without any."""
    server = group.environment
    if server is None:
        return {}
    settings = dict(sorted(server.settings.items()))
    if group.modelled:
        return {"settings": settings} if settings else {}
    # the version under the engine's own name, else all versions
    texts = {name.lower(): text for name, text in server.versions.items()}
    version = texts.get(group.database) or "; ".join(f"{name} {text}" for name, text in sorted(server.versions.items()))
    return {"version": version, "profile": group.run.profile, "settings": settings}


def machine_of(group: Group) -> Conditions:
    """The kind of machine; a new kernel or Python version does not change it."""
    machine = group.run.machine
    cores = machine.get("cores")
    return {
        "cpu": str(machine.get("cpu", "")),
        "cores": cores if isinstance(cores, int) else 0,
        "memory_gib": _memory(group.run),
        "system": str(machine.get("system", "")).partition(" ")[0],
        "cache_bytes": group.environment.cache_bytes if group.environment else 0,
    }


def described(run: Run, trials: Sequence[Trial], server: Environment | None, *, exact: bool) -> Conditions:
    """What two runs must share so that values of an arm can be compared, under the names that a reader sees. `exact`:
    for exact counts, which depend on the rows and on the engine's version alone; times depend on everything."""
    work: Conditions = {"scenario": run.scenario}
    for name in _WORK:
        values = sorted({getattr(trial, name) for trial in trials})
        work[name.replace("_", " ")] = ", ".join(f"{value:,}" for value in values)
    work["version"] = dict(sorted(server.versions.items())) if server else {}
    if exact:
        return work
    machine: Conditions = {
        title: str(run.machine.get(key, "unknown"))
        for key, title in (("cpu", "processor"), ("cores", "cores"), ("system", "system"), ("python", "Python"))
    }
    machine |= {"memory": f"{_memory(run)} GiB" if _memory(run) else "unknown", "keybench": run.keybench}
    machine |= {"server": trials[0].server, "profile": run.profile}
    settings = dict(sorted(server.settings.items())) if server else {}
    return machine | work | {"setting": settings, "cache": f"{server.cache_bytes:,} bytes" if server else "unknown"}


def differences(
    first: Mapping[str, Any], second: Mapping[str, Any], separator: str
) -> Iterator[tuple[str, object, object]]:
    """(name, first value, second value) of each condition that differs; None for the side that lacks it. `separator`
    stands between the name of a table and a name in it."""
    for name in dict.fromkeys([*first, *second]):
        one, other = first.get(name), second.get(name)
        if isinstance(one, dict) and isinstance(other, dict):
            yield from (
                (f"{name}{separator}{inner}", here, there) for inner, here, there in differences(one, other, separator)
            )
        elif one != other:
            yield name, one, other


def definition_of(run: Run) -> object:
    """The scenario as the run recorded it, without its title."""
    return {key: value for key, value in run.part("scenario").items() if key != "title"}


def _memory(run: Run) -> int:
    """The machine's memory in GiB; 0 if it is unknown."""
    memory = run.machine.get("memory_bytes")
    return round(memory / _GIB) if isinstance(memory, int | float) else 0


@dataclass(frozen=True)
class Change:
    """The ratio of new to old values of one arm (None if a side has none above 0), and p of all arms' joint test."""

    ratio: RatioEstimate | None
    p: float


ExactChange = tuple[int, float, float | None]
"""Block, old value, new value."""


def exact_changes(old: ByBlock, new: Mapping[int, float | None], tolerance: float) -> list[ExactChange]:
    """The blocks of both sides whose value differs by more than the tolerance, or is None in `new`."""
    return [
        (block, old[block], now)
        for block in sorted({*old} & {*new})
        if (now := new[block]) is None or not isclose(now, old[block], rel_tol=tolerance, abs_tol=tolerance)
    ]


def effect(metric: Metric, *, rises: bool) -> Literal["", "better", "worse"]:
    """Whether a higher or a lower value is `better` or `worse`; empty if the metric has no good direction."""
    direction = metric.definition.better
    if direction == "neither":
        return ""
    return "better" if rises == (direction == "higher") else "worse"


def changes_in_blocks(old: Sequence[ByBlock], new: Sequence[ByBlock]) -> list[Change]:
    """The changes of arms whose old and new values (`logs`) are of the same blocks."""
    pairs = zip(old, new, strict=True)
    log_ratios = _matrix(
        [{block: after[block] - before[block] for block in after if block in before} for before, after in pairs]
    )
    return _changes([estimate(arm) for arm in log_ratios.T], sign_flip_max(log_ratios))


def changes_between_runs(old: Sequence[ByBlock], new: Sequence[ByBlock]) -> list[Change]:
    """The changes of arms whose old and new values (`logs`) are of independent blocks."""
    if not old:
        return []
    old_logs, new_logs = _matrix(old), _matrix(new)
    estimates = [estimate_between(before, after) for before, after in zip(old_logs.T, new_logs.T, strict=True)]
    return _changes(estimates, shuffle_max(old_logs, new_logs))


def untested_change(old: ByBlock, new: ByBlock) -> RatioEstimate | None:
    """The ratio of new to old values (`logs`) of independent blocks, without a test."""
    first, second = (np.array(list(values.values())) for values in (old, new))
    return estimate_between(first, second)


def _changes(ratios: Sequence[RatioEstimate | None], p_values: Floats) -> list[Change]:
    """A change for each arm; `ratios` and `p_values` have one entry per arm."""
    return [Change(ratio, p) for ratio, p in zip(ratios, p_values.tolist(), strict=True)]


def logs(values: ByBlock) -> dict[int, float]:
    """The logarithm of each block's value; NaN for values not above 0, which have none."""
    return {block: log(value) if value > 0 else nan for block, value in values.items()}


def _matrix(arms: Sequence[ByBlock]) -> Floats:
    """(blocks, arms): a row for each block that any arm has; NaN if an arm lacks that block."""
    blocks = sorted({block for arm in arms for block in arm})
    return np.array([[arm.get(block, nan) for arm in arms] for block in blocks]).reshape(len(blocks), len(arms))
