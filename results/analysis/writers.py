"""The writers of a group's trials, and a metric of one of them."""

from __future__ import annotations

import re

from keybench.model.metric import Metric
from keybench.model.subject import Subject, SubjectKind
from keybench.results.analysis.arms import Arm
from keybench.results.analysis.groups import Group
from keybench.results.analysis.summary import Summary, summarise
from keybench.results.store.blobs import POSITIONS


def writers_of(group: Group) -> list[str]:
    """Ids of the writers that have readings of their own: in the order of the scenario where a trial stored it for
    pictures, else by name, with numbers in names in numerical order. Empty for a single writer."""
    found = {s.name for arm in group.arms for s in arm.readings if s.kind == SubjectKind.WRITER}
    stored = (blob for trial in group.trials for blob in trial.blobs if blob.kind == POSITIONS)
    planned = next((list(blob.about["writers"]) for blob in stored), [])
    return [name for name in planned if name in found] + sorted(found - set(planned), key=_natural)


def summary_of(arm: Arm, metric: Metric, writer: str) -> Summary | None:
    """The writer's metric over blocks; None if no block has a value."""
    return summarise(arm.values(metric, Subject.writer(writer)).values())


def _natural(name: str) -> list[tuple[bool, int, str]]:
    parts = re.split(r"(\d+)", name)
    return [(part.isdecimal(), int(part) if part.isdecimal() else 0, part) for part in parts]
