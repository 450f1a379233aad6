"""The sides of a comparison: a run, or the trials of a run that a selector names."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from keybench.errors import UsageError, unknown_name
from keybench.model.names import CONTROL, NO_DATABASE
from keybench.results.analysis.arms import Arm, arms_of, with_known_servers
from keybench.results.store.database import Store
from keybench.results.store.records import Environment, Run, Trial

FIELDS = ("database", "server", "column", "layout", "payload")
"""What a selector may name."""

Key = tuple[tuple[str, str], ...]
"""The (field, value) pairs that two arms must share to be compared."""


@dataclass(frozen=True)
class ComparisonSide:
    """One side of a comparison. `chosen` holds the fields and values that its selector fixes."""

    name: str
    run: Run
    arms: tuple[Arm, ...]
    environments: tuple[Environment, ...]
    chosen: Mapping[str, str] = field(default_factory=dict)
    all_arms: tuple[Arm, ...] = ()
    """All arms of the run, including the control."""

    @property
    def trials(self) -> tuple[Trial, ...]:
        """All trials of the run."""
        return tuple(trial for arm in self.all_arms for trial in arm.trials)

    @property
    def failed(self) -> list[Trial]:
        """Trials that ended with an error, by block and position."""
        failed = [trial for arm in self.arms for trial in arm.failed]
        return sorted(failed, key=lambda trial: (trial.block, trial.position))

    def control(self, arm: Arm) -> Arm | None:
        """The control with the arm's database, server and payload; None if it has no good trial."""
        controls = (other for other in self.all_arms if other.is_control and _work(other) == _work(arm))
        return next((other for other in controls if other.good), None)

    def environment(self, arm: Arm) -> Environment | None:
        """The server that the arm was measured on, as the server reported itself."""
        return next((e for e in self.environments if (e.database, e.server) == (arm.database, arm.server)), None)


def _work(arm: Arm) -> tuple[str, str, int, int]:
    return arm.database, arm.server, arm.payload, arm.writers


def field_of(arm: Arm, name: str) -> str:
    """One of FIELDS, as a selector writes it."""
    return str(getattr(arm, name))


def side(store: Store, text: str, other: ComparisonSide | None = None) -> ComparisonSide:
    """The side that `RUN`, `RUN:layout=uuid-v4` or `RUN:layout=uuid-v4,column=uuid` names.

    Raises UsageError: no such run, no such field, or no trial of the run with that value. If the `other` side is of
    the same run, its trials are reused and not read again.
    """
    name, _, selector = text.partition(":")
    chosen = _chosen(text, selector) if selector else {}
    run = store.run(name)
    if other is not None and other.run.id == run.id:
        return part(run, other.trials, other.environments, chosen)
    return part(run, store.trials(run.id), store.environments(run.id), chosen)


def part(
    run: Run, trials: Sequence[Trial], environments: Sequence[Environment], chosen: Mapping[str, str]
) -> ComparisonSide:
    """The trials of a run that have the chosen values; all trials if no value is chosen."""
    if not trials:
        raise UsageError(f"run {run.id} holds no trials yet: go on with `keybench run --resume {run.id}`.")
    all_arms = arms_of(with_known_servers(trials))
    for key, value in chosen.items():
        known = {field_of(arm, key) for arm in all_arms}
        if value not in known:
            raise unknown_name(f"{key} of run {run.id}", value, known)
    picked = tuple(arm for arm in all_arms if all(field_of(arm, key) == value for key, value in chosen.items()))
    label = run.id + (":" + ",".join(f"{key}={value}" for key, value in chosen.items()) if chosen else "")
    if chosen and not picked:
        raise UsageError(f"{label}: no trial of the run has all of these: name fewer of them.")
    return ComparisonSide(label, run, picked, tuple(environments), chosen, all_arms)


def against_control(whole: ComparisonSide) -> tuple[ComparisonSide, ComparisonSide]:
    """The two sides if only one run is given: its control, and all its other layouts."""
    chosen = {**whole.chosen, "layout": CONTROL}
    control = tuple(arm for arm in whole.all_arms if arm.is_control)
    treatments = tuple(arm for arm in whole.arms if not arm.is_control)
    before = ComparisonSide(
        f"{whole.run.id}:layout={CONTROL}", whole.run, control, whole.environments, chosen, whole.all_arms
    )
    return before, ComparisonSide(whole.name, whole.run, treatments, whole.environments, whole.chosen, whole.all_arms)


def pairs(before: ComparisonSide, after: ComparisonSide) -> tuple[list[tuple[Arm, Arm]], list[Arm], list[Arm]]:
    """Pairs (before, after) of arms that can be compared, then the arms that only `before` has and only `after` has.

    Two arms form a pair if they agree in every field that no selector names. If only one of two runs has a selector
    for a field, that value applies to both runs; within one run it compares that part with all others. A layout's
    column follows from the layout: where layouts are chosen, columns need not agree, but an arm of the same column is
    preferred. Servers of two runs need not agree either; the comparison reports it.
    """
    one_run = before.run.id == after.run.id
    first, second = before.chosen, after.chosen
    named = {
        name
        for name in {*first, *second}
        if one_run or first.get(name, second.get(name)) != second.get(name, first.get(name))
    }
    loose = {*named, "server"} | ({"column"} if "layout" in named else set())
    kept = tuple(name for name in FIELDS if name not in loose)
    groups: dict[Key, tuple[list[Arm], list[Arm]]] = defaultdict(lambda: ([], []))
    for number, (one, other) in enumerate(((before, after), (after, before))):
        for arm in one.arms:
            if all(field_of(arm, name) == value for name, value in other.chosen.items() if name not in named):
                groups[_key(arm, kept, named)][number].append(arm)
    together: list[tuple[Arm, Arm]] = []
    alone: tuple[list[Arm], list[Arm]] = ([], [])
    for first_arms, second_arms in groups.values():
        couples = _couples(first_arms, second_arms, one_run=one_run)
        together += couples
        alone[0].extend(arm for arm in first_arms if not any(arm is old for old, _ in couples))
        alone[1].extend(arm for arm in second_arms if not any(arm is new for _, new in couples))
    return together, *alone


def _couples(first: Sequence[Arm], second: Sequence[Arm], *, one_run: bool) -> list[tuple[Arm, Arm]]:
    """Pairs each arm of `second` with its counterpart in `first`.

    Within one run, if `second` is a single arm that `first` has too, it is compared with every other arm of `first`.
    """
    if one_run and len(second) == 1 and second[0] in first:
        return [(old, second[0]) for old in first if old != second[0]]
    couples = []
    for new in second:
        candidates = [old for old in first if not (one_run and old == new)]
        for name in ("column", "server"):
            candidates = [old for old in candidates if field_of(old, name) == field_of(new, name)] or candidates
        if len(candidates) == 1:
            couples.append((candidates[0], new))
    return couples


def _key(arm: Arm, kept: Sequence[str], named: set[str]) -> Key:
    fields = [*kept, "server"] if arm.database == NO_DATABASE and "server" not in named else kept
    return (("writers", str(arm.writers)), *((name, field_of(arm, name)) for name in fields))


def _chosen(text: str, selector: str) -> dict[str, str]:
    chosen = {}
    # A value may itself contain commas: `server=AES, 1 thread`.
    for piece in re.split(r",(?=\s*\w+=)", selector):
        key, equals, value = piece.strip().partition("=")
        if not equals or not value:
            raise UsageError(
                f"{text}: write FIELD=VALUE after the colon, separated by commas if there are several, as in "
                f"latest:layout=uuid-v7; the fields are {', '.join(FIELDS)}."
            )
        if key not in FIELDS:
            raise unknown_name("field", key, FIELDS)
        chosen[key] = value
    return chosen
