"""Describes the machine on which a run is made."""

from __future__ import annotations

import os
import platform
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


def _cpu_model() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="ascii", errors="replace").splitlines()
    except OSError:
        lines = []
    models = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return models[0] if models else platform.processor() or platform.machine()
