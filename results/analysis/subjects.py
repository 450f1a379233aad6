"""What readings of a group are about beside the key: the phases of an index's life, and the writers."""

from __future__ import annotations

import re
from typing import Final

from keybench.model.metric import Metric
from keybench.model.subject import Subject, SubjectKind
from keybench.results.analysis.arms import Arm
from keybench.results.analysis.groups import Group
from keybench.results.analysis.ratios import Summary, summarise
from keybench.results.store.blobs import POSITIONS

_MOVING: Final = (Metric.EDGE_SPLITS, Metric.INTERIOR_SPLITS, Metric.EDGE_AND_INTERIOR_SPLITS)


def phases_of(arm: Arm) -> list[str]:
    """Their names, in the order in which they were done; empty if the index has no past."""
    names = {subject.name for subject in arm.readings if subject.kind == SubjectKind.PHASE}
    return sorted(names, key=lambda name: int(name.partition(" ")[0]))


def after_phase(arm: Arm, metric: Metric, name: str, kind: SubjectKind = SubjectKind.PHASE) -> Summary | None:
    """The metric over blocks; None if no block has a value."""
    return summarise(arm.values(metric, Subject(kind, name)).values())


def insertions(arm: Arm) -> list[str]:
    """Those of its phases that insert rows one after another."""
    return [name for name in phases_of(arm) if name.endswith(" insert")]


def splits_per_thousand(arm: Arm, name: str) -> float | None:
    """Splits that move rows in an inserting phase, per 1,000 rows: the server's, else the page model's beside it; None
    where neither is known."""
    rows = after_phase(arm, Metric.PHASE_ROWS, name)
    for kind in (SubjectKind.PHASE, SubjectKind.MODEL_PHASE):
        splits = [one.median for metric in _MOVING if (one := after_phase(arm, metric, name, kind))]
        if rows and splits:
            return 1000 * sum(splits) / rows.median
    return None


def writers_of(group: Group) -> list[str]:
    """Ids of the writers that have readings of their own: in the order of the scenario where a trial stored it for
    pictures, else by name, with numbers in names in numerical order. Empty for a single writer."""
    names = {s.name for arm in group.arms for s in arm.readings if s.kind == SubjectKind.WRITER}
    stored = (blob for trial in group.trials for blob in trial.blobs if blob.kind == POSITIONS)
    planned = next((list(blob.about["writers"]) for blob in stored), [])
    return [name for name in planned if name in names] + sorted(names - set(planned), key=_natural)


def summary_of(arm: Arm, metric: Metric, writer: str) -> Summary | None:
    """The writer's metric over blocks; None if no block has a value."""
    return summarise(arm.values(metric, Subject.writer(writer)).values())


def _natural(name: str) -> list[tuple[bool, int, str]]:
    parts = re.split(r"(\d+)", name)
    return [(part.isdecimal(), int(part) if part.isdecimal() else 0, part) for part in parts]
