"""Describes the machine on which a run is made."""

from __future__ import annotations

import os
import platform
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psutil

import keybench


def describe() -> dict[str, Any]:
    """Processor, cores, memory, system and load at this moment, as plain values for the results database."""
    return {
        "cpu": _cpu_model(),
        "cores": len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count(),
        "memory_bytes": psutil.virtual_memory().total,
        "system": f"{platform.system()} {platform.release()} {platform.machine()}",
        "python": platform.python_version(),
        "keybench": keybench.__version__,
        "load_1min": round(psutil.getloadavg()[0], 2),
    }


def available_memory() -> int:
    """Bytes of memory that this process and its children may still take: the machine's, or less under a limit of the
    process's own (`ulimit -v`) or of its control group (systemd, containers)."""
    machine: int = psutil.virtual_memory().available
    return max(0, min([machine, *_address_space(), *_control_groups()]))


def _address_space() -> Iterator[int]:
    if sys.platform == "win32":
        return
    import resource

    limit, _ = resource.getrlimit(resource.RLIMIT_AS)
    if limit != resource.RLIM_INFINITY:
        yield limit - psutil.Process().memory_info().vms


def _control_groups(proc: Path = Path("/proc/self/cgroup"), system: Path = Path("/sys/fs/cgroup")) -> Iterator[int]:
    """What the limit of each control group of the process leaves, by the files of cgroups(7) versions 1 and 2."""
    try:
        lines = proc.read_text(encoding="ascii").splitlines()
    except OSError:
        return
    for line in lines:
        _, controllers, path = line.split(":", 2)
        if not controllers:
            place, files = system, ("memory.max", "memory.current")
        elif "memory" in controllers.split(","):
            place, files = system / "memory", ("memory.limit_in_bytes", "memory.usage_in_bytes")
        else:
            continue
        own = place / path.lstrip("/")
        for folder in (own, *own.parents):
            if folder.is_relative_to(place):
                yield from _left(folder / files[0], folder / files[1])


def _left(limit: Path, used: Path) -> Iterator[int]:
    try:
        yield int(limit.read_text(encoding="ascii")) - int(used.read_text(encoding="ascii"))
    except (OSError, ValueError):  # there is no such file, or it says `max`
        return


def _cpu_model() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="ascii", errors="replace").splitlines()
    except OSError:
        lines = []
    models = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return models[0] if models else platform.processor() or platform.machine()
