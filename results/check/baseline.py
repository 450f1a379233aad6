"""The baseline: what a run has to repeat, as a small JSON file that people review.

It has two parts, each in groups of trials with the same work (`of`) under the same conditions (`under`):

- `counts`: page counts, a number a block; a lone number is block 1's. The same keys in the same order give them again.
- `times`: ratios to the control, by block in `blocks`; `ratio`, `low` and `high` beside them are for readers alone.

A value that is not there is null. `limits` holds by metric the per cent that a ratio may grow.
"""

from __future__ import annotations

import json
import os
import tempfile
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Annotated, Any, Literal, TypeVar

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, PlainSerializer, ValidationError

import keybench
from keybench.errors import UsageError
from keybench.model.metric import Metric
from keybench.model.subject import KEY, Subject

# History:
# 1 - the first.
FORMAT = 1

_ANOTHER = "or give --baseline another file"
_DECIMALS = 6

Conditions = dict[str, str | int | float | dict[str, str]]
Value = float | None


def _subject(text: object) -> Subject:
    return text if isinstance(text, Subject) else Subject.parse(str(text))


_SubjectText = Annotated[Subject, BeforeValidator(_subject), PlainSerializer(str)]


class _Part(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False, validate_by_name=True)


class CountArm(_Part):
    """The counts of a layout in a column; `object` in the file is the text of their subject."""

    layout: str
    column: str
    subject: _SubjectText = Field(default=KEY, validation_alias="object", serialization_alias="object")
    counts: dict[Metric, Value | list[Value]]

    @property
    def key(self) -> tuple[str, ...]:
        """What tells it from others of its group."""
        return self.layout, self.column, str(self.subject)

    def blocks(self, metric: Metric) -> list[Value]:
        """The metric's values of blocks 1, 2 …"""
        found = self.counts.get(metric)
        return found if isinstance(found, list) else [found]


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
        """What tells it from others of its group."""
        return self.layout, self.column, self.metric


class CountGroup(_Part):
    """Trials with the same work under the same conditions, and their counts."""

    of: Conditions
    under: Conditions
    arms: list[CountArm]


class TimeGroup(_Part):
    """Trials with the same work under the same conditions, and their ratios."""

    of: Conditions
    under: Conditions
    arms: list[TimeArm]


class Baseline(_Part):
    """The whole file."""

    format: Literal[1] = 1
    limits: dict[Metric, float] = Field(default_factory=dict)
    counts: list[CountGroup] = Field(default_factory=list)
    times: list[TimeGroup] = Field(default_factory=list)


def load(path: Path) -> Baseline:
    """Reads the file.

    Raises UsageError: there is none, it cannot be read, is no baseline or damaged, or of a newer keybench.
    """
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise UsageError(f"no baseline {path}: write it from this run with --update-baseline, {_ANOTHER}.") from None
    except OSError as error:
        raise UsageError(f"the baseline {path} cannot be read ({error.strerror}): {_ANOTHER[3:]}.") from None
    except ValueError as error:  # text that is not JSON, or not UTF-8
        raise _damaged(path, str(error).partition(": line")[0].splitlines()[0], error) from None
    if not isinstance(content, dict) or type(content.get("format")) is not int or content["format"] < 1:
        raise UsageError(f"{path} is no baseline of keybench: {_ANOTHER[3:]}.")
    if content["format"] > FORMAT:
        raise UsageError(
            f"the baseline {path} has format {content['format']}, keybench {keybench.__version__} knows formats up to "
            f"{FORMAT}: update keybench, {_ANOTHER}."
        )
    try:
        return Baseline.model_validate(content)
    except ValidationError as error:
        first = error.errors()[0]
        if first["loc"][-1] == "[key]":
            raise UsageError(
                f"the baseline {path} holds the metric {first['input']!r}, which keybench {keybench.__version__} does "
                f"not know: update keybench, {_ANOTHER}."
            ) from None
        raise _damaged(path, f"{'.'.join(map(str, first['loc']))}: {first['msg']}") from None


def _damaged(path: Path, why: str, error: ValueError | None = None) -> UsageError:
    line = f" in line {error.lineno}" if isinstance(error, json.JSONDecodeError) else ""
    return UsageError(
        f"the baseline {path} is damaged ({why}{line}); it was left as it is: take it from version control again, "
        f"{_ANOTHER}."
    )


def text(baseline: Baseline) -> str:
    """The file's text: sorted, one line a group's conditions, one an arm."""

    def groups(part: Sequence[CountGroup] | Sequence[TimeGroup]) -> str:
        found = sorted((_line(group.of), _line(group.under), sorted(group.arms, key=_key)) for group in part)
        blocks = [
            f'  {{\n   "of": {of},\n   "under": {under},\n   "arms": [\n    '
            + ",\n    ".join(_line(_plain(arm)) for arm in arms)
            + "\n   ]\n  }"
            for of, under, arms in found
        ]
        return "[\n" + ",\n".join(blocks) + "\n ]" if blocks else "[]"

    limits = _line(dict(sorted(baseline.limits.items())))
    return (
        f'{{\n "format": {FORMAT},\n "limits": {limits},\n "counts": {groups(baseline.counts)},\n'
        f' "times": {groups(baseline.times)}\n}}\n'
    )


def save(path: Path, baseline: Baseline) -> bool:
    """Writes the file, wholly or, where an UsageError is raised, not at all; False where it says this already."""
    new = text(baseline)
    temporary = None
    try:
        if path.exists() and path.read_text(encoding="utf-8") == new:
            return False
        with tempfile.NamedTemporaryFile("w", encoding="utf-8", dir=path.parent, delete=False) as file:
            temporary = Path(file.name)
            file.write(new)
            file.flush()
            os.fsync(file.fileno())
        temporary.chmod(path.stat().st_mode & 0o777 if path.exists() else 0o644)
        temporary.replace(path)
    except OSError as error:
        if temporary is not None:
            temporary.unlink(missing_ok=True)
        raise UsageError(f"the baseline {path} cannot be written ({error.strerror}): {_ANOTHER[3:]}.") from None
    return True


def merged(old: Baseline, new: Baseline) -> Baseline:
    """`old` with what `new` has in its place; groups and arms that `new` does not have stay."""
    counts, times = _merged(old.counts, new.counts), _merged(old.times, new.times)
    return Baseline(limits=new.limits, counts=counts, times=times)


G = TypeVar("G", CountGroup, TimeGroup)


def _merged(old: Iterable[G], new: Iterable[G]) -> list[G]:
    found = list(old)
    for group in new:
        same = [place for place, one in enumerate(found) if (one.of, one.under) == (group.of, group.under)]
        arms: dict[tuple[str, ...], Any] = {arm.key: arm for place in same for arm in found[place].arms}
        arms |= {arm.key: arm for arm in group.arms}
        found = [one for place, one in enumerate(found) if place not in same]
        found.append(group.model_copy(update={"arms": list(arms.values())}))
    return found


def _key(arm: CountArm | TimeArm) -> tuple[str, ...]:
    return arm.key


def _plain(arm: CountArm | TimeArm) -> dict[str, Any]:
    return arm.model_dump(mode="json", exclude_defaults=True, by_alias=True)


def _line(content: Any) -> str:
    return json.dumps(_rounded(content), ensure_ascii=False, allow_nan=False)


def _rounded(content: Any) -> Any:
    """Six decimals, and whole numbers without any."""
    if isinstance(content, dict):
        return {key: _rounded(value) for key, value in content.items()}
    if isinstance(content, list):
        return [_rounded(value) for value in content]
    if isinstance(content, float):
        return int(content) if content.is_integer() else round(content, _DECIMALS)
    return content
