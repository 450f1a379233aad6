"""What a damaged results database is, and what to say of it.

SQLite stores any value in any column, and a file may come from a broken disk or from a copy that was cut off. So what
is read is checked before it is used.
"""

from __future__ import annotations

import math
import zlib
from collections.abc import Callable, Iterable, Sequence
from datetime import datetime
from typing import Any, Final

from sqlalchemy.exc import SQLAlchemyError

from keybench.errors import UsageError, shortened

ERRORS: Final = (ValueError, TypeError, LookupError, ArithmeticError, AttributeError, zlib.error, SQLAlchemyError)
"""What reading damaged values raises. RecursionError and MemoryError are turned into ValueError by the parsers."""

MOST: Final = 1 << 53
"""Above any count of rows, bytes or pages, and exact as a float."""


class Unreadable(UsageError):
    """SQLite cannot read a value or a table; `reason` says why."""

    def __init__(self, where: str, reason: str) -> None:
        super().__init__(str(damaged(where, "a part of it", reason, "Other parts may be readable.")))
        self.reason = reason


def text(what: str, value: object) -> str:
    """The value, if it is text. Raises ValueError."""
    if not isinstance(value, str):
        raise _wrong(what, value, "text")
    return value


def one_of(what: str, value: object, known: Iterable[str]) -> Any:
    """The value, if it is one of the known texts. Raises ValueError."""
    if not isinstance(value, str) or value not in known:
        raise _wrong(what, value, f"one of {', '.join(known)}")
    return value


def whole(what: str, value: object, least: int = 0, most: int = MOST) -> int:
    """The value, if it is a whole number from `least` to `most`. Raises ValueError."""
    if type(value) is not int or not least <= value <= most:
        raise _wrong(what, value, f"a whole number from {least} to {most}")
    return value


def finite(what: str, value: object) -> float:
    """The value, if it is a finite number. Raises ValueError."""
    if type(value) not in (int, float) or not math.isfinite(value):  # type: ignore[arg-type]
        raise _wrong(what, value, "a finite number")
    return float(value)  # type: ignore[arg-type]


def moment(what: str, value: object) -> datetime:
    """The value, if it is a time. Raises ValueError."""
    if not isinstance(value, datetime):
        raise _wrong(what, value, "a time")
    return value


def table(what: str, value: object, kind: type = object) -> dict[str, Any]:
    """The value, if it is a table whose values are of that kind. Raises ValueError."""
    if not isinstance(value, dict) or not all(isinstance(one, kind) for one in value.values()):
        raise _wrong(what, value, "a table" if kind is object else "a table of texts")
    return value


def _wrong(what: str, value: object, expected: str) -> ValueError:
    return ValueError(f"{what} is {shortened(value)}, not {expected}")


def damaged(where: str, place: str, error: object, readable: str) -> UsageError:
    """The error for what cannot be read; `place` says where it is, `readable` what can still be read."""
    reason = (str(error).strip().splitlines() or [type(error).__name__])[0]
    reason = reason.partition(" with text ")[0].rstrip(".")  # SQLite's message would go on with the whole text
    return UsageError(
        f"{where} is damaged: {place} cannot be read ({reason[:300]}). {readable} It was left as it is: take it from a "
        "copy, or give --results another file."
    )


def readable(ids: Sequence[str], read: Callable[[str], object], stop: Callable[[], bool]) -> str:
    """A sentence that names the runs that `read` reads without an error; `stop` says when to give up."""
    good: list[str] = []
    for run_id in ids:
        if stop():
            return f"Runs that can still be read, as far as was looked: {', '.join(good) or 'none'}."
        try:
            read(run_id)
        except (*ERRORS, UsageError):
            continue
        good.append(run_id)
    return f"Runs that can still be read: {', '.join(good)}." if good else "No other run in it can be read."
