"""The next step where a server's disk is full."""

from __future__ import annotations

import re

_FULL = re.compile(r"No space left on device|[Dd]isk full|disk is full|^The table '.*' is full")
NEXT_STEP = "Free space on the server's disk; private servers are in KEYBENCH_TMP, which can name a larger one."


def with_next_step(said: str) -> str:
    """A server's message, with the next step where it says that its disk is full."""
    return f"{said.rstrip('.')}. {NEXT_STEP}" if _FULL.search(said) else said
