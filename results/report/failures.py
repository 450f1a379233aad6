"""What failed in a run: each different error of an arm once, and the tracebacks of unexpected errors."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from keybench.results.analysis.groups import Group

_FILE: Final = re.compile(r'File "([^"\n]*)"')
_PACKAGE: Final = re.compile(r"(?:.*[/\\])?((?:keybench|site-packages|python3\.\d+)[/\\].*)")
"""A path in keybench, in an installed package or in the standard library; greedy, so that the last folder counts."""
_HOME: Final = re.compile(r"(?<![\w.])(?:(?:/home|/Users)/[^/\s\"':]+|/root|[A-Za-z]:\\Users\\[^\\\s\"':]+)(?![\w.-])")
_PASSWORD: Final = re.compile(r"(?i)(\w://[^\s:/?#@\"']*:)[^\s\"']*(?=@)|(password=)[^\s&,)\"']+")
"""A password in a URL; errors are redacted before they are stored, so this is a second barrier."""


@dataclass(frozen=True)
class ArmError:
    """One error of one arm, and the blocks whose trials it ended."""

    title: str
    error: str
    blocks: tuple[int, ...]
    traceback: str
    """Anchor of its traceback; empty if the error was an expected one."""


@dataclass(frozen=True)
class Traceback:
    """One stored traceback, and the arms that have it."""

    anchor: str
    arms: tuple[str, ...]
    text: str


@dataclass(frozen=True)
class Failures:
    """What failed in a run. A successful trial can have a traceback too: that of a prediction that failed."""

    trials: list[ArmError]
    tracebacks: list[Traceback]


def failures(groups: Sequence[Group], anchor: str) -> Failures:
    """Everything that failed in these groups; `anchor` makes the ids unique on the page."""
    blocks: dict[tuple[str, str, str], list[int]] = {}
    arms: dict[str, list[str]] = {}
    for group in groups:
        size = f" · {group.run.characters(group.payload)}" if group.payload != 100 else ""
        for arm in group.arms:
            title = f"{group.database} · {arm.name}{size}"
            for trial in arm.trials:
                text = private_parts_removed(trial.traceback)
                if text and title not in arms.setdefault(text, []):
                    arms[text].append(title)
                if trial.status == "error":
                    own = blocks.setdefault((title, trial.error, text), [])
                    if trial.block not in own:  # the control is in several groups
                        own.append(trial.block)
    anchors = {text: f"{anchor}-traceback-{number}" for number, text in enumerate(arms, start=1)}
    return Failures(
        [ArmError(title, error, tuple(own), anchors.get(text, "")) for (title, error, text), own in blocks.items()],
        [Traceback(anchors[text], tuple(titles), text) for text, titles in arms.items()],
    )


def private_parts_removed(traceback: str) -> str:
    """The traceback with short paths, `~` for home directories, and without passwords in URLs."""
    if not traceback:
        return ""
    text = _FILE.sub(lambda match: f'File "{_short(match[1])}"', traceback)
    return _PASSWORD.sub(lambda match: f"{match[1] or match[2]}…", _HOME.sub("~", text)).strip("\n")


def _short(path: str) -> str:
    """The path from its package or the library on; else the file name."""
    inside = _PACKAGE.fullmatch(path)
    return inside[1] if inside else re.split(r"[/\\]", path)[-1]
