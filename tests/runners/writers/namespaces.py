"""Network namespaces: processes in them have their own network, as other machines have."""

import os
import shutil
import subprocess
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import pytest


def ip(*arguments: str, check: bool = True) -> subprocess.CompletedProcess[str]:
    return subprocess.run(["ip", *arguments], check=check, capture_output=True, text=True)


@contextmanager
def namespaces(count: int) -> Iterator[tuple[str, Sequence[str]]]:
    """(this machine's address on a bridge, names of so many namespaces that are joined to it)."""
    if os.geteuid() or not shutil.which("ip"):
        pytest.skip("network namespaces need root and the program ip")
    own, bridge = os.getpid() % 60_000, f"kb{os.getpid() % 60_000}"
    network = f"10.{200 + own // 256 % 50}.{own % 256}"
    if (done := ip("link", "add", bridge, "type", "bridge", check=False)).returncode:
        pytest.skip(f"no bridge can be made here: {done.stderr.strip()}")
    names = [f"{bridge}n{i}" for i in range(count)]
    try:
        ip("addr", "add", f"{network}.1/24", "dev", bridge)
        ip("link", "set", bridge, "up")
        for i, name in enumerate(names):
            ip("netns", "add", name)
            ip("link", "add", f"{bridge}v{i}", "type", "veth", "peer", "name", "eth0", "netns", name)
            ip("link", "set", f"{bridge}v{i}", "master", bridge, "up")
            ip("-n", name, "addr", "add", f"{network}.{10 + i}/24", "dev", "eth0")
            ip("-n", name, "link", "set", "eth0", "up")
            ip("-n", name, "link", "set", "lo", "up")
        yield f"{network}.1", names
    finally:
        for name in names:
            ip("netns", "del", name, check=False)
        ip("link", "del", bridge, check=False)
