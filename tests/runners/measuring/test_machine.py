"""How much memory is left, under every limit."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import psutil
import pytest

from keybench.runners.measuring import machine


def test_without_a_limit_it_is_the_machines_memory() -> None:
    assert 0 < machine.available_memory() <= psutil.virtual_memory().total


@pytest.mark.skipif(sys.platform != "linux", reason="ulimit -v works on Linux")
def test_a_limit_of_address_space_counts() -> None:
    code = """
import resource
resource.setrlimit(resource.RLIMIT_AS, (3_000_000_000, 3_000_000_000))
from keybench.runners.measuring.machine import available_memory
print(available_memory())
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert 0 < int(done.stdout) < 3_000_000_000


@pytest.mark.parametrize(
    ("line", "folder", "limit", "used"),
    [
        ("0::/a/b", "a", "memory.max", "memory.current"),
        ("4:memory:/a/b", "memory/a/b", "memory.limit_in_bytes", "memory.usage_in_bytes"),
    ],
)
def test_a_limit_of_a_control_group_or_of_one_above_it_counts(
    line: str, folder: str, limit: str, used: str, tmp_path: Path
) -> None:
    own = tmp_path / "fs" / folder
    own.mkdir(parents=True)
    (own / limit).write_text("5000000000\n")
    (own / used).write_text("2000000000\n")
    proc = tmp_path / "cgroup"
    proc.write_text(f"7:cpu:/x\n{line}\n")
    assert list(machine._control_groups(proc, tmp_path / "fs")) == [3_000_000_000]
    (own / limit).write_text("max\n")
    assert list(machine._control_groups(proc, tmp_path / "fs")) == []
