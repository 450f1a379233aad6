"""The phases of a group's trials, and a metric after one of them."""

from __future__ import annotations

from keybench.model.metric import Metric
from keybench.model.subject import Subject, SubjectKind
from keybench.results.analysis.arms import Arm
from keybench.results.analysis.summary import Summary, summarise


def phases_of(arm: Arm) -> list[str]:
    """Their names, in the order in which they were done; empty if the index has no past."""
    names = {subject.name for subject in arm.readings if subject.kind == SubjectKind.PHASE}
    return sorted(names, key=lambda name: int(name.partition(" ")[0]))


def after_phase(arm: Arm, metric: Metric, name: str, kind: SubjectKind = SubjectKind.PHASE) -> Summary | None:
    """The metric over blocks; None if no block has a value."""
    return summarise(arm.values(metric, Subject(kind, name)).values())
