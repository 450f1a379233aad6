"""The reaper: one small process beside each container, which removes it when the runner is gone, however it went.

testcontainers has one too, in a container of its own, but that publishes a port on all of the machine's addresses.
The runner starts `python -m keybench.databases.hosting.reaper RUNNER NAME` before it makes the container NAME. Standard
library only: it must start at once. Not on Windows, where a process does not learn that its parent has ended.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time

from keybench.databases.hosting import docker_api
from keybench.errors import KeybenchError

_POLL_SECONDS = 0.25
_RETRY_SECONDS = 10.0
"""For so long after the runner's end: the daemon may be making the container that was asked for."""


def start(name: str) -> subprocess.Popen[bytes] | None:
    """Starts the reaper of the container `name`; None where there can be none."""
    if sys.platform == "win32":
        return None
    return subprocess.Popen(
        [sys.executable, "-P", "-m", __name__, str(os.getpid()), name],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,  # Ctrl-C is the runner's to handle
    )


def stop(reaper: subprocess.Popen[bytes] | None) -> None:
    """Ends it without a removal."""
    if reaper:
        reaper.kill()
        reaper.wait()


def watch(runner: int, name: str) -> None:
    """Waits for the end of the runner, then removes the container."""
    while os.getppid() == runner:
        time.sleep(_POLL_SECONDS)
    deadline = time.monotonic() + _RETRY_SECONDS
    while time.monotonic() < deadline:
        try:
            if docker_api.remove(name):
                return
        except KeybenchError:
            pass  # once more: nobody is left to be told
        time.sleep(_POLL_SECONDS)


if __name__ == "__main__":
    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)
    watch(int(sys.argv[1]), sys.argv[2])
