"""Reads keys from a file, one a line, in the order in which their rows arrive (`keybench run --keys FILE`)."""

import re
from functools import cache
from pathlib import Path
from typing import Final

import numpy as np

from keybench.errors import UsageError, shortened
from keybench.model.keys import Keys, Kind

_FORMS: Final[tuple[tuple[Kind, re.Pattern[str]], ...]] = (
    ("int", re.compile(r"-?[0-9]{1,19}")),
    ("uuid", re.compile(r"[0-9a-f]{8}(?:-?[0-9a-f]{4}){3}-?[0-9a-f]{12}", re.IGNORECASE)),
    ("bytes", re.compile(r"(?:[0-9a-f]{2}){4,}", re.IGNORECASE)),
    ("text", re.compile(r"[!-~]{1,255}")),
)
"""What a line of each kind looks like. The first that the first line has is that of all lines."""
_WORDS: Final = {"int": "an integer", "uuid": "a UUID", "bytes": "bytes in hexadecimal", "text": "text in ASCII"}


@cache
def keys_of_file(path: str) -> Keys:
    """The keys. UsageError, with the number of the line, for an empty line, a key of another form or width than the
    first, an integer of more than 64 bits, and a key that an earlier line has."""
    try:
        lines = Path(path).read_text(encoding="utf-8").splitlines()
    except (OSError, ValueError) as error:  # ValueError: no text
        raise UsageError(f"--keys {path} cannot be read ({error}): give a file of text with one key a line.") from None
    if not lines:
        raise UsageError(f"--keys {path} is empty: give a file with one key a line.")
    kind, form = next((one for one in _FORMS if one[1].fullmatch(lines[0])), _FORMS[-1])
    wide = kind in ("bytes", "text")
    for number, line in enumerate(lines, start=1):
        if not line:
            raise _refused(path, number, "is empty: leave the line out")
        if not form.fullmatch(line):
            raise _refused(path, number, f"{shortened(line)} is not {_WORDS[kind]}, as keys of this file are")
        if wide and len(line) != len(lines[0]):
            raise _refused(path, number, f"has {len(line)} characters, and line 1 has {len(lines[0])}")
        if kind == "int" and not -(1 << 63) <= int(line) < 1 << 63:
            raise _refused(path, number, f"{line} has more than 64 bits")
    keys = _keys(lines, kind)
    _, first, back = np.unique(keys.data, axis=0, return_index=True, return_inverse=True)
    if (repeats := np.flatnonzero(first[back.ravel()] != np.arange(len(lines)))).size:
        at = int(repeats[0])
        raise _refused(path, at + 1, f"repeats the key of line {first[back.ravel()[at]] + 1}")
    return keys


def _keys(lines: list[str], kind: Kind) -> Keys:
    if kind == "int":
        return Keys(np.array([int(line) for line in lines], np.int64), kind)
    whole = "".join(lines)
    data = whole.encode("ascii") if kind == "text" else bytes.fromhex(whole.replace("-", ""))
    return Keys(np.frombuffer(data, np.uint8).reshape(len(lines), -1), kind)


def _refused(path: str, number: int, why: str) -> UsageError:
    return UsageError(f"--keys {path}, line {number}: {why}.")
