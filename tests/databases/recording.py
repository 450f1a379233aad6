"""A DB-API connection that writes down what is sent, and checks that the real driver would take each call.

It is no database. It answers nothing but what a test puts into `answers`, by the beginning of a statement.
"""

import inspect
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar

Rows = Sequence[Sequence[object]]


@dataclass
class Calls:
    """What was called, in order: ("execute", statement, values), ("executemany", statement, rows), ("commit",) …"""

    calls: list[tuple[Any, ...]] = field(default_factory=list)
    answers: dict[str, Rows] = field(default_factory=dict)
    refuse: dict[str, str] = field(default_factory=dict)
    connected: list[Any] = field(default_factory=list)

    def statements(self) -> list[str]:
        return [call[1] for call in self.calls if call[0] in {"execute", "executemany"}]

    def names(self) -> list[str]:
        """What was called, without its arguments."""
        return [call[0] for call in self.calls]

    def refusal(self, statement: str) -> str:
        """The text with which the server refuses it, or nothing."""
        return next((text for beginning, text in self.refuse.items() if statement.startswith(beginning)), "")

    def answer(self, statement: str) -> Rows:
        return next((rows for beginning, rows in self.answers.items() if statement.startswith(beginning)), ())


def check(kind: type, method: str, *arguments: object) -> None:
    """Fails where the real driver's method would not take these arguments."""
    inspect.signature(getattr(kind, method)).bind(None, *arguments)


class RecordingCursor:
    """A cursor of a record; `kind` is the real one's type."""

    kind: ClassVar[type]
    description: object = None

    def __init__(self, record: Any) -> None:
        self._record = record
        self._rows: list[Sequence[object]] = []

    def close(self) -> None:
        check(self.kind, "close")

    def fetchall(self) -> Rows:
        check(self.kind, "fetchall")
        return self._rows


class RecordingConnection:
    """A connection; `kind` is the real one's type, `cursor_type` that of its recording cursors."""

    kind: ClassVar[type]
    cursor_type: ClassVar[Any]

    def __init__(self, record: Any) -> None:
        self._record = record

    def cursor(self) -> Any:
        check(self.kind, "cursor")
        return self.cursor_type(self._record)

    def commit(self) -> None:
        self._noted("commit")

    def rollback(self) -> None:
        self._noted("rollback")

    def close(self) -> None:
        self._noted("close")

    def _noted(self, method: str) -> None:
        check(self.kind, method)
        self._record.calls.append((method,))
