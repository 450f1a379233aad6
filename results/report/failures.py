"""The failed trials of a run: each different error once, with its traceback if it was unexpected."""

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
class Failure:
    """One error of one arm, and the blocks whose trials it ended."""

    anchor: str
    title: str
    error: str
    traceback: str
    """Empty if the error was an expected one."""
    blocks: tuple[int, ...]


def failures(groups: Sequence[Group], anchor: str) -> list[Failure]:
    """Every failure of these groups; `anchor` makes the ids unique on the page."""
    blocks: dict[tuple[str, str, str], list[int]] = {}
    for group in groups:
        for arm in group.arms:
            title = f"{group.database} · {arm.name}" + (
                f" · {group.payload} characters" if group.payload != 100 else ""
            )
            for trial in arm.failed:
                key = (title, trial.error, private_parts_removed(trial.traceback))
                own = blocks.setdefault(key, [])
                if trial.block not in own:
                    own.append(trial.block)
    return [
        Failure(f"{anchor}-failure-{number}", title, error, traceback, tuple(own))
        for number, ((title, error, traceback), own) in enumerate(blocks.items(), start=1)
    ]


def private_parts_removed(traceback: str) -> str:
    """The traceback with short paths, `~` for home directories, and without passwords in URLs."""
    text = _FILE.sub(lambda match: f'File "{_short(match[1])}"', traceback)
    return _PASSWORD.sub(lambda match: f"{match[1] or match[2]}…", _HOME.sub("~", text)).strip("\n")


def _short(path: str) -> str:
    """The path from its package or the library on; else the file name."""
    inside = _PACKAGE.fullmatch(path)
    return inside[1] if inside else re.split(r"[/\\]", path)[-1]
