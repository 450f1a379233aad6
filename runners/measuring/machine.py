"""The machine on which a run is made, and what else uses it.

Interference is measured when the table is ready and the run itself is idle, so that all activity comes from other
programs or from background work of the server.
"""

from __future__ import annotations

import os
import platform
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psutil

import keybench
from keybench.model.metric import Metric
from keybench.model.reading import Reading
from keybench.model.subject import MACHINE


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
    process's control group (systemd, containers)."""
    available: int = psutil.virtual_memory().available
    return max(0, min([available, *_memory_left_in_groups()]))


def _memory_left_in_groups(
    proc: Path = Path("/proc/self/cgroup"), system: Path = Path("/sys/fs/cgroup")
) -> Iterator[int]:
    """Bytes of memory that each control group of the process, up to the topmost, still allows; none without a limit.
    `proc` and `system` are the files of cgroups(7) version 2; tests give others."""
    try:
        lines = proc.read_text(encoding="ascii").splitlines()
    except OSError:
        return
    for line in lines:
        if line.startswith("0::"):  # the line of version 2: the path of the process's group
            group = system / line.removeprefix("0::").lstrip("/")
            for folder in (group, *group.parents):  # the limits of all groups above hold, too
                if folder.is_relative_to(system):
                    yield from _memory_left(folder / "memory.max", folder / "memory.current")


def _memory_left(limit: Path, used: Path) -> Iterator[int]:
    """The bytes of memory that a control group may still take; nothing if it has no limit. Both files hold bytes."""
    try:
        yield int(limit.read_text(encoding="ascii")) - int(used.read_text(encoding="ascii"))
    except (OSError, ValueError):  # there is no such file, or it says `max`
        return


def _cpu_model() -> str:
    """The processor's name; if Linux does not tell it, what Python knows, which may be the architecture alone."""
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="ascii", errors="replace").splitlines()
    except OSError:
        lines = []
    models = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return models[0] if models else platform.processor() or platform.machine()


_LOOPS, _ROUNDS = 3, 60_000
"""How often the loop of fixed work is timed, and its steps."""
_WINDOW_SECONDS = 0.02
"""How long processor times are watched before the load."""
_BUSY = ("user", "nice", "system", "irq", "softirq")
"""Kinds of processor time in which work is done (psutil's names)."""
_NOT_KNOWN = "this system does not tell"


@dataclass(frozen=True)
class Interference:
    """What was measured before the first row; `after` adds what can be measured only after the last one."""

    readings: tuple[Reading, ...]
    times: dict[str, float]
    """Processor seconds by kind of work, just before the first row (`_times`)."""

    @staticmethod
    def before() -> Interference:
        """Measures for about 30 ms: processors that others keep busy, waits for the disk, and a loop of fixed work."""
        first, began = _times(), time.perf_counter()
        time.sleep(_WINDOW_SECONDS)
        second, seconds = _times(), time.perf_counter() - began
        busy = sum(second.get(name, 0.0) - first.get(name, 0.0) for name in _BUSY) / seconds
        waited = (second["iowait"] - first["iowait"]) / seconds if "iowait" in second else None
        readings = (
            Reading(Metric.OTHERS_CPU, max(busy, 0.0), "measured", subject=MACHINE),
            _known(Metric.DISK_WAIT, None if waited is None else 100 * min(max(waited, 0.0), 1.0)),
            Reading(Metric.SENTINEL_MS, 1e3 * min(_loop() for _ in range(_LOOPS)), "measured", subject=MACHINE),
        )
        return Interference(readings, _times())

    def after(self) -> list[Reading]:
        """All readings: those from before, and the processor time that the hypervisor has taken since then."""
        now = _times()
        total = sum(now.values()) - sum(self.times.values())
        stolen = now["steal"] - self.times["steal"] if "steal" in now else None
        percent = None if stolen is None else 100 * max(stolen, 0.0) / max(total, 1e-9)  # they may not have moved
        return [*self.readings, _known(Metric.STOLEN_CPU, percent)]


def _loop() -> float:
    """Seconds that a fixed amount of work takes: longer than usual if the processor is slowed down or shared."""
    began, number = time.perf_counter(), 1
    for _ in range(_ROUNDS):
        number = (number * 69069 + 1) & 0xFFFFFFFF  # a linear congruential generator: only work to be timed
    return time.perf_counter() - began


def _times() -> dict[str, float]:
    """Processor seconds of the machine by kind of work. The time of virtual guests is already part of the user time."""
    return {name: float(value) for name, value in psutil.cpu_times()._asdict().items() if "guest" not in name}


def _known(metric: Metric, value: float | None) -> Reading:
    """The measured reading of that metric about the machine; absent if the value is None: the system does not tell."""
    if value is None:
        return Reading(metric, None, "absent", _NOT_KNOWN, MACHINE)
    return Reading(metric, value, "measured", subject=MACHINE)
