"""The machine around a trial: who else uses it, how fast it is, and how much memory is left."""

import multiprocessing
import time
from pathlib import Path

import psutil
import pytest

from keybench.model.definition import Theme
from keybench.model.metric import Metric, of_theme
from keybench.model.subject import MACHINE
from keybench.runners.measuring import machine
from keybench.runners.measuring.machine import Interference


def values(seen: Interference) -> dict[Metric, float | None]:
    return {reading.metric: reading.value for reading in seen.after()}


def burn(until: float) -> None:
    while time.monotonic() < until:
        pass


def test_each_is_read_and_of_the_machine() -> None:
    found = Interference.before().after()
    assert {reading.metric for reading in found} == set(of_theme(Theme.MACHINE))
    assert {reading.subject for reading in found} == {MACHINE}
    assert all(reading.value is not None and reading.value >= 0 for reading in found if reading.origin == "measured")


def test_somebody_elses_work_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    """One busy process more than there are processors leaves none idle."""
    monkeypatch.setattr(machine, "_WINDOW_SECONDS", 0.25)  # of ticks of 10 ms
    processors = psutil.cpu_count() or 1
    context = multiprocessing.get_context("spawn")
    others = [context.Process(target=burn, args=(time.monotonic() + 60,)) for _ in range(processors + 1)]
    for other in others:
        other.start()
    try:
        until = time.monotonic() + 20
        while (busy := values(Interference.before())[Metric.OTHERS_CPU] or 0) < 0.7 * processors:
            assert time.monotonic() < until, f"only {busy} of {processors} processors were seen busy"
    finally:
        for other in others:
            other.kill()
            other.join()


def test_what_the_system_does_not_tell_is_absent_with_the_reason(monkeypatch: pytest.MonkeyPatch) -> None:
    """As on macOS."""
    times = {"user": 1.0, "nice": 0.0, "system": 1.0, "idle": 9.0}
    monkeypatch.setattr(machine, "_times", lambda: times)
    found = {reading.metric: reading for reading in Interference.before().after()}
    for metric in (Metric.DISK_WAIT, Metric.STOLEN_CPU):
        assert (found[metric].value, found[metric].origin) == (None, "absent")
        assert found[metric].reason == "this system does not tell"
    assert found[Metric.OTHERS_CPU].value == 0


def test_stolen_time_is_a_share_of_the_processors_time(monkeypatch: pytest.MonkeyPatch) -> None:
    readings = iter([{"user": 0.0, "idle": 0.0, "iowait": 0.0, "steal": 0.0}] * 3 + [
        {"user": 6.0, "idle": 2.0, "iowait": 0.0, "steal": 2.0}
    ])  # fmt: skip
    monkeypatch.setattr(machine, "_times", lambda: next(readings))
    assert values(Interference.before())[Metric.STOLEN_CPU] == pytest.approx(20)


def test_a_limit_of_a_control_group_or_of_one_above_it_counts(tmp_path: Path) -> None:
    assert 0 < machine.available_memory() <= psutil.virtual_memory().total
    group, proc = tmp_path / "fs" / "a", tmp_path / "cgroup"
    group.mkdir(parents=True)
    (group / "memory.max").write_text("5000000000\n")
    (group / "memory.current").write_text("2000000000\n")
    proc.write_text("7:cpu:/x\n0::/a/b\n")
    assert list(machine._memory_left_in_groups(proc, tmp_path / "fs")) == [3_000_000_000]
    (group / "memory.max").write_text("max\n")
    assert list(machine._memory_left_in_groups(proc, tmp_path / "fs")) == []
