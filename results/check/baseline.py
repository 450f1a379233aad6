"""The baseline: what a run must repeat, as a small JSON file that people can review.

It has two parts. Each consists of groups of trials with the same work (`of` in the file) and conditions (`under`):

- `counts`: page counts, one number per block; a single number belongs to block 1. The same keys in the same order
  give the same counts.
- `times`: ratios to the control, by block in `blocks`; `ratio`, `low` and `high` are only for human readers.

A missing value is null. `limits` gives for each metric by how many per cent a ratio may grow.
"""

import json
from collections.abc import Iterable, Mapping
from contextlib import suppress
from math import isnan, log
from pathlib import Path
from typing import Annotated, Any, Generic, Literal, TypeVar

import numpy as np
from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, PlainSerializer, ValidationError

import keybench
from keybench.errors import UsageError
from keybench.model import parsers
from keybench.model.definition import Theme
from keybench.model.metric import Metric
from keybench.model.names import COMPUTED
from keybench.model.reading import Reading
from keybench.model.subject import KEY, Subject, SubjectKind
from keybench.results.analysis.arms import Arm, repeats
from keybench.results.analysis.groups import Group
from keybench.results.analysis.ratios import ByBlock, by_block_ratios, estimate
from keybench.results.atomic_file import atomic_file
from keybench.results.comparison import Conditions, machine_of, server_of, work_of

# History:
# 1 - the first.
FORMAT = 1

Value = float | None

_ANOTHER = "or give --baseline another file"
"""The end of a message; `_ANOTHER[3:]` is without the "or"."""
_DECIMALS = 6


def _subject(text: object) -> Subject:
    """The subject that a text in the file names; a subject stays as it is."""
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

    def by_block(self, metric: Metric) -> dict[int, Value]:
        """The metric's value in each block from 1 on; None where there is none."""
        values = self.counts.get(metric)
        return dict(enumerate(values if isinstance(values, list) else [values], 1))


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

    @property
    def by_block(self) -> dict[int, float]:
        """The ratio in each block that has one."""
        return {block: ratio for block, ratio in enumerate(self.blocks, 1) if ratio is not None}


AnyArm = TypeVar("AnyArm", CountArm, TimeArm)


class BaselineGroup(_Part, Generic[AnyArm]):
    """The counts or the ratios of trials with the same work under the same conditions."""

    work: Conditions = Field(validation_alias="of", serialization_alias="of")
    conditions: Conditions = Field(validation_alias="under", serialization_alias="under")
    arms: list[AnyArm]


CountGroup = BaselineGroup[CountArm]
TimeGroup = BaselineGroup[TimeArm]


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


def _merged(old: Iterable[BaselineGroup[AnyArm]], new: Iterable[BaselineGroup[AnyArm]]) -> list[BaselineGroup[AnyArm]]:
    """The old groups, in which arms of new groups with the same work and conditions replace arms with the same key."""
    groups = list(old)
    for group in new:
        same = [other for other in groups if (other.work, other.conditions) == (group.work, group.conditions)]
        arms: dict[tuple[str, ...], Any] = {arm.key: arm for other in same for arm in other.arms}
        arms |= {arm.key: arm for arm in group.arms}
        groups = [other for other in groups if other not in same]
        groups.append(group.model_copy(update={"arms": list(arms.values())}))
    return groups


def load(path: Path) -> Baseline:
    """Reads the file. UsageError if it is missing, unreadable, not a baseline, damaged, or of a newer keybench."""
    try:
        content = parsers.from_json(parsers.file_text(path))
    except FileNotFoundError:
        raise UsageError(f"no baseline {path}: create it from this run with --update-baseline, {_ANOTHER}.") from None
    except OSError as error:
        raise UsageError(f"the baseline {path} cannot be read ({error.strerror}): {_ANOTHER[3:]}.") from None
    except ValueError as error:  # not JSON, whose message ends with ": line 1 column 2 (char 1)", or not UTF-8
        line = f" in line {error.lineno}" if isinstance(error, json.JSONDecodeError) else ""
        raise _damaged(path, str(error).partition(": line")[0].splitlines()[0] + line) from None
    if not isinstance(content, dict) or type(content.get("format")) is not int or content["format"] < 1:  # no bool
        raise UsageError(f"{path} is not a keybench baseline: {_ANOTHER[3:]}.")
    if content["format"] > FORMAT:
        raise UsageError(
            f"the baseline {path} has format {content['format']}, keybench {keybench.__version__} knows formats up to "
            f"{FORMAT}: update keybench, {_ANOTHER}."
        )
    try:
        return Baseline.model_validate(content)
    except ValidationError as error:
        first = error.errors()[0]
        if first["loc"][-1] == "[key]":  # pydantic's word: the name in a table is wrong, not its value
            raise UsageError(
                f"the baseline {path} holds the metric {first['input']!r}, which keybench {keybench.__version__} does "
                f"not know: update keybench, {_ANOTHER}."
            ) from None
        raise _damaged(path, f"{'.'.join(map(str, first['loc']))}: {first['msg']}") from None


def _damaged(path: Path, why: str) -> UsageError:
    """The error for a file that is a baseline, but cannot be read."""
    return UsageError(
        f"the baseline {path} is damaged ({why}); it was left as it is: take it from version control again, {_ANOTHER}."
    )


def save(path: Path, baseline: Baseline) -> bool:
    """Writes the whole file; False if it already has this content. If it cannot be: UsageError, and no change."""
    new = text(baseline)
    with suppress(OSError), parsers.regular_file(path) as file:  # what cannot be read cannot be written either
        if file.read() == new.encode():
            return False
    with atomic_file(path, _ANOTHER[3:]) as part:
        part.write_text(new, encoding="utf-8")
    return True


def text(baseline: Baseline) -> str:
    """The file's text, sorted: one line for a group's work, one for its conditions, one for each arm."""
    return (
        f'{{\n "format": {FORMAT},\n "limits": {_line(dict(sorted(baseline.limits.items())))},\n'
        f' "counts": {_groups(baseline.counts)},\n "times": {_groups(baseline.times)}\n}}\n'
    )


def _groups(groups: Iterable[CountGroup | TimeGroup]) -> str:
    """Groups as a JSON list, broken into the lines that `text` describes: a review of a change sees the arm alone."""
    blocks = []
    for group in sorted(groups, key=lambda group: (_line(group.work), _line(group.conditions))):
        arms: list[CountArm | TimeArm] = sorted(group.arms, key=lambda arm: arm.key)
        lines = [_line(arm.model_dump(mode="json", exclude_defaults=True, by_alias=True)) for arm in arms]
        head = f'   "of": {_line(group.work)},\n   "under": {_line(group.conditions)},\n   "arms": [\n    '
        blocks.append("  {\n" + head + ",\n    ".join(lines) + "\n   ]\n  }")
    return "[\n" + ",\n".join(blocks) + "\n ]" if blocks else "[]"


def _line(content: Any) -> str:
    return json.dumps(_rounded(content), ensure_ascii=False, allow_nan=False)


def _rounded(content: Any) -> Any:
    """The content with six decimals, and whole numbers without any."""
    if isinstance(content, dict):
        return {key: _rounded(value) for key, value in content.items()}
    if isinstance(content, list):
        return [_rounded(value) for value in content]
    if isinstance(content, float):
        return int(content) if content.is_integer() else round(content, _DECIMALS)
    return content


LIMITS: Mapping[Metric, float] = {Metric.INSERT_SECONDS: 10, Metric.LOG_BYTES: 5, Metric.LEAF_PAGES: 1}
"""The limits of a new baseline: per cent by which a ratio may grow."""


def measure(groups: Iterable[Group], limits: Mapping[Metric, float]) -> Baseline:
    """What a run can be compared by: exact counts as they are, and metrics with a limit as ratios to the control."""
    measured = Baseline(limits=dict(limits))
    for group in groups:
        work, server, repeating = work_of(group), server_of(group), repeats(group.run, group.trials[0])
        if repeating and (counts := _count_arms(group)):
            measured.counts.append(CountGroup(work=work, conditions=server | {"seed": group.run.seed}, arms=counts))
        as_ratios = [metric for metric in limits if not (metric.definition.exact and repeating)]
        if not group.modelled and (ratios := _time_arms(group, as_ratios)):
            measured.times.append(TimeGroup(work=work, conditions=server | machine_of(group), arms=ratios))
    return measured


def _count_arms(group: Group) -> list[CountArm]:
    """The counts of each arm and subject: a list of the blocks' values, or the value of block 1 alone."""
    entries = []
    for arm in group.arms:
        for subject, readings in sorted(arm.readings.items()):
            counts = {}
            for metric, by_block in sorted(readings.items()):
                values = {block: reading.value for block, reading in by_block.items() if _is_count(reading, arm.server)}
                if present := {block: value for block, value in values.items() if value is not None}:
                    blocks = _in_blocks(present)
                    counts[metric] = blocks if len(blocks) > 1 else blocks[0]
            if counts:
                entries.append(CountArm(layout=arm.layout, column=arm.column, subject=subject, counts=counts))
    return entries


def _is_count(reading: Reading, server: str) -> bool:
    """Whether the reading is a count for the baseline.

    Counts of the key's index and of the table's other indexes are; a model's prediction beside a server is not.
    Positions of keys are exact too, but the same on every database: they would only enlarge the baseline.
    """
    about = reading.metric.definition
    if not about.exact or about.theme == Theme.POSITION or reading.subject.kind == SubjectKind.WRITER:
        return False
    return server in COMPUTED or reading.origin != "modelled"


def _in_blocks(values: ByBlock) -> list[Value]:
    """The values of blocks 1, 2 …; None where a block has none."""
    return [values.get(block) for block in range(1, max(values) + 1)]


def _time_arms(group: Group, metrics: Iterable[Metric]) -> list[TimeArm]:
    """The ratios of each arm to the control: to the one in the arm's own column if there is one, else to the first."""
    controls = [arm for arm in group.arms if arm.is_control and arm.good]
    if not controls:
        return []
    entries = []
    for arm in group.treatments:
        control = next((other for other in controls if other.column == arm.column), controls[0])
        ratios = {metric: by_block_ratios(arm.values(metric), control.values(metric)) for metric in metrics}
        entries += [_time_arm(arm, metric, by_block) for metric, by_block in ratios.items() if by_block]
    return entries


def _time_arm(arm: Arm, metric: Metric, ratios: ByBlock) -> TimeArm:
    """The arm's entry in the baseline, from its ratios to the control by block (at least one)."""
    estimated = estimate(np.array([log(ratio) for ratio in ratios.values()]))
    assert estimated is not None  # there is a block
    low, high = (None, None) if isnan(estimated.low) else (estimated.low, estimated.high)
    blocks = _in_blocks(ratios)
    return TimeArm(
        layout=arm.layout, column=arm.column, metric=metric, ratio=estimated.ratio, low=low, high=high, blocks=blocks
    )
