"""Why figures of two runs cannot be compared: the conditions that differ but should not."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from keybench.results.analysis.arms import Arm
from keybench.results.analysis.repeatability import repeats
from keybench.results.compare.sides import Side

_MACHINE = {"cpu": "processor", "cores": "cores", "system": "system", "python": "Python"}
_GIB = 2**30


def apart(before: Side, after: Side, old: Arm, new: Arm) -> list[str]:
    """Why times of the two arms are not comparable, each reason with both values; empty within one run."""
    if before.run.id == after.run.id:
        return []
    first, second = before.run, after.run
    reasons = [
        _differ(title, first.machine.get(key), second.machine.get(key))
        for key, title in _MACHINE.items()
    ]  # fmt: skip
    reasons += [
        _differ("memory", _memory(first.machine), _memory(second.machine)),
        _differ("keybench", first.keybench, second.keybench),
        _differ("server", old.server, new.server),
        _differ("profile", first.profile, second.profile),
        *_work(before, after, old, new),
        *_server(before, after, old, new),
    ]
    return [reason for reason in reasons if reason]


def counted_apart(before: Side, after: Side, old: Arm, new: Arm) -> list[str]:
    """Why exact counts of the two arms are not comparable: different rows, or a different engine version."""
    if before.run.id == after.run.id:
        return []
    own, other = before.environment(old), after.environment(new)
    versions = (own.versions if own else {}, other.versions if other else {})
    reasons = [*_work(before, after, old, new), *_each("version", *versions)]
    return [reason for reason in reasons if reason]


def same_counts(before: Side, after: Side, old: Arm, new: Arm) -> bool:
    """Whether exact metrics must be equal block by block, because the same keys arrived in the same order."""
    sides = ((before, old), (after, new))
    return before.run.seed == after.run.seed and all(
        repeats(side.run, trial) for side, arm in sides for trial in arm.good
    )


def _work(before: Side, after: Side, old: Arm, new: Arm) -> Iterable[str]:
    yield _differ("scenario", before.run.scenario, after.run.scenario)
    for title in ("rows", "writers", "rows_per_tx", "payload"):
        values = ({getattr(trial, title) for trial in arm.trials} for arm in (old, new))
        yield _differ(title.replace("_", " "), *(", ".join(f"{value:,}" for value in sorted(own)) for own in values))
    if before.run.scenario == after.run.scenario and _definition(before) != _definition(after):
        yield f"scenario {before.run.scenario}: its definition changed between the runs"


def _definition(side: Side) -> Any:
    scenario = side.run.definition.get("scenario")
    return {k: v for k, v in scenario.items() if k != "title"} if isinstance(scenario, dict) else scenario


def _server(before: Side, after: Side, old: Arm, new: Arm) -> Iterable[str]:
    own, other = before.environment(old), after.environment(new)
    if own is None or other is None:
        return
    yield from _each("version", own.versions, other.versions)
    yield from _each("setting", own.settings, other.settings)
    yield _differ("cache", f"{own.cache_bytes:,} bytes", f"{other.cache_bytes:,} bytes")


def _each(title: str, first: Mapping[str, str], second: Mapping[str, str]) -> Iterable[str]:
    for key in sorted({*first, *second}):
        yield _differ(f"{title} {key}", first.get(key, "unknown"), second.get(key, "unknown"))


def _differ(title: str, first: object, second: object) -> str:
    return "" if first == second else f"{title}: {first}, then {second}"


def _memory(machine: Mapping[str, object]) -> str:
    memory = machine.get("memory_bytes")
    return f"{memory / _GIB:.0f} GiB" if isinstance(memory, int | float) else "unknown"
