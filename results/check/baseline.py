"""The baseline: what a run must repeat, as a small JSON file that people can review.

It has two parts. Each consists of groups of trials with the same work (`of` in the file) and conditions (`under`):

- `counts`: page counts, one number per block; a single number belongs to block 1. The same keys in the same order
  give the same counts.
- `times`: ratios to the control, by block in `blocks`; `ratio`, `low` and `high` are only for human readers.

A missing value is null. `limits` gives for each metric by how many per cent a ratio may grow. `baseline_file` reads and
writes the file.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Annotated, Any, Literal, TypeVar

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, PlainSerializer

from keybench.model.metric import Metric
from keybench.model.subject import KEY, Subject

# History:
# 1 - the first.
FORMAT = 1

Conditions = dict[str, str | int | float | dict[str, str]]
Value = float | None


def _subject(text: object) -> Subject:
    return text if isinstance(text, Subject) else Subject.parse(str(text))


_SubjectText = Annotated[Subject, BeforeValidator(_subject), PlainSerializer(str)]


class _Part(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False, validate_by_name=True)


class CountArm(_Part):
    """The counts of a layout in a column; `object` in the file is their subject as text."""

    layout: str
    column: str
    subject: _SubjectText = Field(default=KEY, validation_alias="object", serialization_alias="object")
    counts: dict[Metric, Value | list[Value]]

    @property
    def key(self) -> tuple[str, ...]:
        """What distinguishes it from other arms of its group."""
        return self.layout, self.column, str(self.subject)

    def blocks(self, metric: Metric) -> list[Value]:
        """The metric's values in blocks 1, 2 …"""
        values = self.counts.get(metric)
        return values if isinstance(values, list) else [values]


class TimeArm(_Part):
    """One metric of a layout in a column, over the control's in the same block."""

    layout: str
    column: str
    metric: Metric
    ratio: float
    low: Value
    high: Value
    blocks: list[Value]

    @property
    def key(self) -> tuple[str, ...]:
        """What distinguishes it from other arms of its group."""
        return self.layout, self.column, self.metric


class CountGroup(_Part):
    """Trials with the same work under the same conditions, and their counts."""

    work: Conditions = Field(validation_alias="of", serialization_alias="of")
    conditions: Conditions = Field(validation_alias="under", serialization_alias="under")
    arms: list[CountArm]


class TimeGroup(_Part):
    """Trials with the same work under the same conditions, and their ratios."""

    work: Conditions = Field(validation_alias="of", serialization_alias="of")
    conditions: Conditions = Field(validation_alias="under", serialization_alias="under")
    arms: list[TimeArm]


class Baseline(_Part):
    """The whole file."""

    format: Literal[1] = 1
    limits: dict[Metric, float] = Field(default_factory=dict)
    counts: list[CountGroup] = Field(default_factory=list)
    times: list[TimeGroup] = Field(default_factory=list)


def merged(old: Baseline, new: Baseline) -> Baseline:
    """`old` updated with `new`. Groups and arms that `new` does not have are kept."""
    counts, times = _merged(old.counts, new.counts), _merged(old.times, new.times)
    return Baseline(limits=new.limits, counts=counts, times=times)


G = TypeVar("G", CountGroup, TimeGroup)


def _merged(old: Iterable[G], new: Iterable[G]) -> list[G]:
    groups = list(old)
    for group in new:
        same = [one for one in groups if (one.work, one.conditions) == (group.work, group.conditions)]
        arms: dict[tuple[str, ...], Any] = {arm.key: arm for one in same for arm in one.arms}
        arms |= {arm.key: arm for arm in group.arms}
        groups = [one for one in groups if one not in same]
        groups.append(group.model_copy(update={"arms": list(arms.values())}))
    return groups
