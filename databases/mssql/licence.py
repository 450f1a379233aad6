"""What has to be so before a container of SQL Server may be started: the licence accepted, an amd64 machine, memory.

The licence is accepted by the person who runs it, never by keybench: `--accept-eula mssql` of the runner, or
`ACCEPT_EULA=Y`, which is what Microsoft's image itself asks for.
"""

from __future__ import annotations

import os
import platform

import psutil

TERMS = "https://go.microsoft.com/fwlink/?linkid=857698"
ACCEPTED = "KEYBENCH_ACCEPT_EULA"
"""Engines whose licence was accepted, comma-separated: what `--accept-eula` sets."""

ASKED = (
    f"SQL Server's container needs you to accept Microsoft's licence terms ({TERMS}): read them, then add "
    "--accept-eula mssql or set ACCEPT_EULA=Y."
)

LEAST_MEMORY = 2_000_000_000
"""Bytes without which the server refuses to start ("at least 2000 megabytes of memory")."""


def accepted() -> bool:
    """Whether the person who runs this has accepted the terms."""
    named = [name.strip() for name in os.environ.get(ACCEPTED, "").split(",")]
    return "mssql" in named or os.environ.get("ACCEPT_EULA", "").upper() in {"Y", "YES", "1", "TRUE"}


def missing() -> str:
    """What stands against starting the container on this machine; empty where nothing does."""
    if (machine := platform.machine().lower()) not in {"x86_64", "amd64"}:
        return (
            f"Microsoft's image of SQL Server is made for amd64 alone, and this machine is {machine}: start it where "
            "that is emulated or on another machine, and give its URL as --server mssql://…"
        )
    if (memory := psutil.virtual_memory().total) < LEAST_MEMORY:
        return too_little(memory)
    return "" if accepted() else ASKED


def too_little(memory: int) -> str:
    """What is said where a machine's or a container's memory does not suffice."""
    return (
        f"SQL Server refuses to start with less than 2,000 MB of memory, and there are {memory // 1_000_000:,} MB: "
        "give it more, or use a server elsewhere by --server mssql://…"
    )
