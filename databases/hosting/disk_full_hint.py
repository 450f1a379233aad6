"""What to do when a server's disk is full."""

from __future__ import annotations

import re

_FULL = re.compile(r"No space left on device|[Dd]isk full|disk is full|^The table '.*' is full")
NEXT_STEP = (
    "Free space on the server's disk; private servers are in KEYBENCH_TMP, which can name a larger one, and containers "
    "in the folder that `docker info` calls Docker Root Dir."
)


def with_next_step(message: str) -> str:
    """The server's message. If it says that the disk is full, the next step is added."""
    return f"{message.rstrip('.')}. {NEXT_STEP}" if _FULL.search(message) else message
