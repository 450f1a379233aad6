"""Results that several layouts share, each computed once in a process, also where threads ask at the same time."""

from collections.abc import Callable, Hashable
from threading import RLock
from typing import Any, TypeVar

T = TypeVar("T")

_locks: dict[Hashable, RLock] = {}
_results: dict[Hashable, Any] = {}


def once(key: Hashable, compute: Callable[[], T]) -> T:
    """The result for this key. The first caller computes it; others wait for it. The key has to name all that the
    result depends on, and begin with what kind of result it is."""
    with _locks.setdefault(key, RLock()):
        if key not in _results:
            _results[key] = compute()
        result: T = _results[key]
        return result
