"""Readers of what users give: of files, which may be no files, and of texts.

Parsers raise ValueError for all that they cannot read. Python's own also raise RecursionError for values nested some
hundred deep, and MemoryError. Both are the input's fault.
"""

import errno
import json
import os
import stat
import tomllib
from collections.abc import Callable
from pathlib import Path
from typing import Any, BinaryIO, TypeVar

T = TypeVar("T")


def regular_file(path: Path) -> BinaryIO:
    """Opens a file for reading. OSError if it is a pipe or a device: these may have no end, or nobody who writes."""
    # O_NONBLOCK: else a pipe that nobody writes to would never open. Windows has neither.
    try:
        file = open(path, "rb", opener=lambda name, flags: os.open(name, flags | getattr(os, "O_NONBLOCK", 0)))  # noqa: SIM115
    except ValueError:
        raise OSError(errno.EINVAL, "its name holds a NUL", str(path)) from None
    if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
        file.close()
        raise OSError(errno.EINVAL, "it is no regular file", str(path))
    return file


def file_text(path: Path) -> str:
    """The text in a file. OSError if it is no regular file, ValueError if it is not UTF-8."""
    with regular_file(path) as file:
        return file.read().decode("utf-8")


def parsed(parse: Callable[[str], T], text: str) -> T:
    """What the parser reads in a text. Raises ValueError, whose message is for the user, if it cannot."""
    try:
        return parse(text)
    except RecursionError:
        raise ValueError("its values are nested too deeply") from None
    except MemoryError:
        raise ValueError("it needs more memory than there is") from None


def toml(text: str) -> dict[str, Any]:
    """The table in a TOML text."""
    return parsed(tomllib.loads, text)


def from_json(text: str) -> Any:
    """The value in a JSON text, without NaN and infinity, which RFC 8259 does not have; lone surrogates are escaped."""
    tree = parsed(lambda json_text: json.loads(json_text, parse_constant=_no_number), text)
    return _printable(tree) if "\\ud" in text.lower() else tree  # only escapes give lone surrogates


def _no_number(name: str) -> float:
    raise ValueError(f"{name} is no number")


def _printable(tree: Any) -> Any:
    """The same JSON value with lone surrogates, which cannot be printed, written as \\uXXXX."""
    if isinstance(tree, dict):
        return {_printable(name): _printable(value) for name, value in tree.items()}
    if isinstance(tree, list):
        return [_printable(value) for value in tree]
    return tree.encode("utf-8", "backslashreplace").decode() if isinstance(tree, str) else tree
