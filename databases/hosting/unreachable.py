"""Errors of servers that cannot be reached, or whose disk is full, with the next step."""

from __future__ import annotations

import re

from keybench.databases.contract.roles import Address
from keybench.errors import EnvironmentMissing, KeybenchError, ServerError

_FULL = re.compile(r"No space left on device|[Dd]isk full|disk is full|^The table '.*' is full")
NEXT_STEP = (
    "Free space on the server's disk; private servers are in KEYBENCH_TMP, which can name a larger one, and containers "
    "in the folder that `docker info` calls Docker Root Dir."
)


def with_next_step(message: str) -> str:
    """The server's message. If it says that the disk is full, the next step is added."""
    return f"{message.rstrip('.')}. {NEXT_STEP}" if _FULL.search(message) else message


def unreachable(address: Address, title: str, place: str, reason: str, to_check: str) -> KeybenchError:
    """The error for a failed connection, without the password.

    For the server of a URL it is EnvironmentMissing and names the parts of the URL that the user should check. For
    other servers it is ServerError.
    """
    secret = address.secret.reveal() if address.secret else ""
    shown = (reason.replace(secret, "***") if secret else reason).rstrip(". ")
    if address.server == "url":
        return EnvironmentMissing(
            f"{title} at {place} cannot be reached: {shown}.\nCheck {to_check} in the URL, and that the server is up."
        )
    return ServerError(f"the {title} server of this run does not answer: {shown}.")
