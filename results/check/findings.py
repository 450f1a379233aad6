"""Findings of a check: one for each difference between a run and its baseline."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, Literal

from keybench.model.metric import Metric
from keybench.model.subject import KEY, Subject
from keybench.results.check.baseline import Conditions, CountArm, TimeArm

Kind = Literal["failed", "changed", "slower", "unclear", "faster", "kept", "not comparable", "new", "not measured"]

REGRESSIONS: Final[tuple[Kind, ...]] = ("failed", "changed", "slower")
"""Kinds of findings that make the command end with exit code 1."""


@dataclass(frozen=True)
class Finding:
    """One result of the check. `layout`, `column` and `metric` are empty if it concerns a whole group."""

    kind: Kind
    work: Conditions
    layout: str = ""
    column: str = ""
    subject: Subject = KEY
    metric: Metric | None = None
    old: str = ""
    new: str = ""
    note: str = ""


FailedArms = set[tuple[object, str, str]]
"""Work (from `frozen`), layout and column of each arm with a failed trial."""


def frozen(work: Conditions) -> object:
    """The work in hashable form."""
    return tuple(work.items())


def of_one_side(
    work: Conditions,
    own: Mapping[tuple[str, ...], CountArm] | Mapping[tuple[str, ...], TimeArm],
    old: Mapping[tuple[str, ...], CountArm] | Mapping[tuple[str, ...], TimeArm],
    failed: FailedArms,
    what: str,
) -> list[Finding]:
    """A finding for each arm that only the run (`own`) or only the baseline (`old`) has. Failed arms are left out: they
    already have findings."""
    new = dict.fromkeys(key[:2] for key in own if key not in old)
    gone = dict.fromkeys(key[:2] for key in old if key not in own and (frozen(work), *key[:2]) not in failed)
    return [
        *(Finding("new", work, layout, column, note=f"{what}: not in the baseline") for layout, column in new),
        *(
            Finding("not measured", work, layout, column, note=f"{what}: in the baseline alone")
            for layout, column in gone
        ),
    ]
