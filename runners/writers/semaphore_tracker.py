"""multiprocessing's resource tracker: the process that removes the semaphores of a runner that was killed.

If the tracker itself is killed, multiprocessing starts another. By itself it would then print a warning, and the new
tracker a traceback for each semaphore that it does not know. Neither concerns the user: the runner removes its
semaphores itself when it ends.
"""

from __future__ import annotations

import warnings
from multiprocessing import resource_tracker
from typing import Any, Final

_WARNING: Final = "resource_tracker: process died unexpectedly"
_FORGET: Final = resource_tracker.unregister


def prepare() -> None:
    """Makes the loss of the tracker silent. Called before the first worker process starts; again does nothing."""
    warnings.filterwarnings("ignore", _WARNING, UserWarning)
    resource_tracker.unregister = _introduce_and_forget


def _introduce_and_forget(name: Any, rtype: str) -> None:
    """Removes a name from the tracker's list, to which it is added before: a new tracker does not know it."""
    resource_tracker.register(name, rtype)
    _FORGET(name, rtype)
