"""Waiting for what another process does."""

import time
from collections.abc import Callable


def wait_while(condition: Callable[[], object], seconds: float = 5) -> None:
    """Waits until the condition no longer holds, or for so many seconds: what follows asserts that it does not."""
    deadline = time.monotonic() + seconds
    while condition() and time.monotonic() < deadline:
        time.sleep(0.01)
