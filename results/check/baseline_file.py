"""The baseline file: reads it with errors that say what to do, and writes it as text that people can review."""

from __future__ import annotations

import json
import os
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from pydantic import ValidationError

import keybench
from keybench.errors import UsageError
from keybench.model import parsers
from keybench.results.check.baseline import FORMAT, Baseline, CountArm, CountGroup, TimeArm, TimeGroup

_ANOTHER = "or give --baseline another file"
_DECIMALS = 6


def load(path: Path) -> Baseline:
    """Reads the file.

    Raises UsageError if it is missing, unreadable, not a baseline, damaged, or written by a newer keybench.
    """
    try:
        content = parsers.from_json(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise UsageError(f"no baseline {path}: create it from this run with --update-baseline, {_ANOTHER}.") from None
    except OSError as error:
        raise UsageError(f"the baseline {path} cannot be read ({error.strerror}): {_ANOTHER[3:]}.") from None
    except ValueError as error:  # text that is not JSON, or not UTF-8
        raise _damaged(path, str(error).partition(": line")[0].splitlines()[0], error) from None
    if not isinstance(content, dict) or type(content.get("format")) is not int or content["format"] < 1:
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
    """The file's text, sorted: one line for a group's work, one for its conditions, one for each arm."""

    def groups(part: Sequence[CountGroup] | Sequence[TimeGroup]) -> str:
        lines = sorted((_line(group.work), _line(group.conditions), sorted(group.arms, key=_key)) for group in part)
        blocks = [
            f'  {{\n   "of": {work},\n   "under": {conditions},\n   "arms": [\n    '
            + ",\n    ".join(_line(_plain(arm)) for arm in arms)
            + "\n   ]\n  }"
            for work, conditions, arms in lines
        ]
        return "[\n" + ",\n".join(blocks) + "\n ]" if blocks else "[]"

    limits = _line(dict(sorted(baseline.limits.items())))
    return (
        f'{{\n "format": {FORMAT},\n "limits": {limits},\n "counts": {groups(baseline.counts)},\n'
        f' "times": {groups(baseline.times)}\n}}\n'
    )


def save(path: Path, baseline: Baseline) -> bool:
    """Writes the whole file; False if it already has this content.

    Raises UsageError if it cannot be written; the file is then unchanged.
    """
    new = text(baseline)
    temporary = None
    try:
        if path.exists() and path.read_bytes() == new.encode():
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


def _key(arm: CountArm | TimeArm) -> tuple[str, ...]:
    return arm.key


def _plain(arm: CountArm | TimeArm) -> dict[str, Any]:
    return arm.model_dump(mode="json", exclude_defaults=True, by_alias=True)


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
