"""Interference from outside a trial: how fast the machine is at the moment, and what else uses it.

It is measured when the table is ready and the run itself is idle, so that all activity comes from other programs or
from background work of the server. It takes about 30 ms.
"""

from __future__ import annotations

import time
from dataclasses import dataclass

import psutil

from keybench.model.metric import Metric
from keybench.model.reading import Reading
from keybench.model.subject import MACHINE

_LOOPS, _ROUNDS = 3, 60_000
_WINDOW_SECONDS = 0.02
_BUSY = ("user", "nice", "system", "irq", "softirq")
_NOT_KNOWN = "this system does not tell"


@dataclass(frozen=True)
class Interference:
    """What was measured before the first row; `after` adds what is known after the last one."""

    readings: tuple[Reading, ...]
    times: dict[str, float]

    @staticmethod
    def before() -> Interference:
        """Measures for about 30 ms."""
        first, began = _times(), time.perf_counter()
        time.sleep(_WINDOW_SECONDS)
        second, seconds = _times(), time.perf_counter() - began
        busy = sum(second.get(name, 0.0) - first.get(name, 0.0) for name in _BUSY) / seconds
        waited = (second["iowait"] - first["iowait"]) / seconds if "iowait" in second else None
        readings = (
            Reading(Metric.OTHERS_CPU, max(busy, 0.0), "measured", subject=MACHINE),
            _known(Metric.DISK_WAIT, waited and 100 * min(max(waited, 0.0), 1.0)),
            Reading(Metric.SENTINEL_MS, 1e3 * min(_loop() for _ in range(_LOOPS)), "measured", subject=MACHINE),
        )
        return Interference(readings, _times())

    def after(self) -> list[Reading]:
        """All readings, including what has happened since."""
        now = _times()
        total = sum(now.values()) - sum(self.times.values())
        stolen = now["steal"] - self.times["steal"] if "steal" in now else None
        share = None if stolen is None else 100 * max(stolen, 0.0) / max(total, 1e-9)
        return [*self.readings, _known(Metric.STOLEN_CPU, share)]


def _loop() -> float:
    """Seconds that a fixed number of steps takes."""
    began, number = time.perf_counter(), 1
    for _ in range(_ROUNDS):
        number = (number * 69069 + 1) & 0xFFFFFFFF
    return time.perf_counter() - began


def _times() -> dict[str, float]:
    """Processor seconds of the machine by kind of work. The time of virtual guests is already part of the user time."""
    return {name: float(value) for name, value in psutil.cpu_times()._asdict().items() if "guest" not in name}


def _known(metric: Metric, value: float | None) -> Reading:
    if value is None:
        return Reading(metric, None, "absent", _NOT_KNOWN, MACHINE)
    return Reading(metric, value, "measured", subject=MACHINE)
