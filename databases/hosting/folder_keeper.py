"""The keeper: one small process for each private server, which cleans up no matter how the runner ends.

The keeper owns the server's folder and starts the server as a child that dies with the keeper. Then it waits until the
runner ends, the server ends, or the runner asks it to stop. It then stops the server, deletes the folder and ends.
Meanwhile it holds the folder's lock, so the next command removes the folder of a keeper that was killed
(`keybench.locked_folder`). This module uses only the standard library, because the keeper must start at once.
`private_folder.PrivateFolder` is the runner's side.

Protocol: the runner writes one line of JSON (a `Spec`) to the keeper's standard input. A further line `restart` asks
the keeper to end the server and start it again on the same files; any other byte, or the end of the input, asks it to
stop. The keeper writes one JSON object per line to its standard output: `folder`, then `server` (its process id, again
after each restart) or `ready`, or `failed`; `ended` comes last.
"""

from __future__ import annotations

import json
import os
import select
import signal
import subprocess
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from keybench import locked_folder
from keybench.databases.hosting.keeper_processes import LINUX, LOG_NAME, SetupError, Spawner, Spec, adopt_orphans, stop

_POLL_SECONDS = 0.1
RESTART = b"restart\n"
_RESTART_SECONDS = 120.0
"""A server writes its whole cache before it ends."""


def log_tail(folder: Path, lines: int = 15) -> str:
    """The last lines of the server's log; empty if there is no log."""
    try:
        with (folder / LOG_NAME).open("rb") as log:
            log.seek(max(0, log.seek(0, os.SEEK_END) - 8192))
            return "\n".join(log.read().decode("utf-8", "replace").splitlines()[-lines:])
    except OSError:
        return ""


class RunnerWatch:
    """Waits for a child to end, for the runner to end, or for a request to stop."""

    def __init__(self, runner: int, stopping: bool) -> None:
        self._runner = runner
        self._stop = stopping
        self._restart = False
        self._poll = select.poll()
        self._poll.register(0, select.POLLIN | select.POLLHUP)
        waker, wake = os.pipe()
        os.set_blocking(wake, False)
        signal.set_wakeup_fd(wake, warn_on_full_buffer=False)
        self._poll.register(waker, select.POLLIN)
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
            signal.signal(number, lambda *_: None)  # the wake-up descriptor ends the wait; no exception interrupts work
        if hasattr(os, "pidfd_open"):
            with suppress(ProcessLookupError):
                self._poll.register(os.pidfd_open(runner), select.POLLIN)

    def ends_first(self, child: subprocess.Popen[bytes] | None) -> bool:
        """Waits. Returns whether the child (if any) ended before the runner ended or a stop was requested."""
        descriptor = None
        if child and hasattr(os, "pidfd_open"):
            descriptor = os.pidfd_open(child.pid)  # nobody has waited for the child, so its process id is not reused
            self._poll.register(descriptor, select.POLLIN)
        try:
            while not self._stop:
                if child and child.poll() is not None:
                    return True
                if os.getppid() != self._runner:  # for systems without pidfd, and if it died before pidfd_open
                    break
                timeout = None if descriptor is not None or (child is None and LINUX) else _POLL_SECONDS
                for ready, _ in self._poll.poll(timeout and timeout * 1000):
                    if ready == 0 and os.read(0, len(RESTART)) == RESTART:
                        self._restart = True
                        return False
                    self._stop = self._stop or ready != descriptor
            self._stop = True
            return False
        finally:
            if descriptor is not None:
                self._poll.unregister(descriptor)
                os.close(descriptor)

    def asked_to_restart(self) -> bool:
        """Whether the last wait ended because of a request to restart, which is then done with."""
        asked, self._restart = self._restart, False
        return asked


class Keeper:
    """One private server, from the creation of its folder to the folder's removal."""

    def __init__(self, spec: Spec, watch: RunnerWatch, tell: Callable[..., None]) -> None:
        self._spec = spec
        self._watch = watch
        self._tell = tell

    def run(self) -> None:
        """Makes the folder, keeps the server until something ends it, and cleans up."""
        base = Path(self._spec.base)
        locked_folder.sweep(base)
        claimed = locked_folder.claim(base, self._spec.engine)
        if claimed is None:
            raise SetupError(
                f"no private folder can be made in {base}: make it writable, or set KEYBENCH_TMP to another directory."
            )
        folder, lock = claimed
        try:
            self._live(folder)
        except SetupError as error:
            self._tell(failed=str(error), log=log_tail(folder))
        except OSError as error:
            self._tell(failed=f"{error.filename}: {error.strerror}", log=log_tail(folder))
        finally:
            locked_folder.release(folder, lock)

    def _live(self, folder: Path) -> None:
        spawner = Spawner(self._spec, folder)
        server = None
        try:
            spawner.make_folder()
            self._tell(folder=str(folder), installation=spawner.installation)
            if not self._set_up(spawner):
                return
            if self._spec.server:
                server = spawner.spawn(self._spec.server)
                self._tell(server=server.pid)
            else:
                self._tell(ready=True)
            while not self._watch.ends_first(server):
                if not (self._watch.asked_to_restart() and server and self._spec.server):
                    return
                stop(server, self._spec.restart_signal, _RESTART_SECONDS)
                server = spawner.spawn(self._spec.server)
                self._tell(server=server.pid)
            if server:
                self._tell(ended=server.returncode, log=log_tail(folder))
        finally:
            spawner.end(server)

    def _set_up(self, spawner: Spawner) -> bool:
        """Runs the setup commands. Returns False if they were interrupted. Raises SetupError if one fails."""
        for command in self._spec.setup:
            process = spawner.spawn(command)
            if not self._watch.ends_first(process):
                stop(process, signal.SIGKILL)
                return False
            if process.returncode:
                raise SetupError(f"{spawner.fill(command[0])} {_ended(process.returncode)}")
        return True


def _ended(code: int) -> str:
    """How a setup command ended that did not succeed."""
    if code > 0:
        return f"failed with exit code {code}"
    why = ", as the system does when memory runs out" if code == -signal.SIGKILL else ""
    return f"was killed by the signal {signal.Signals(-code).name}{why}"


def main() -> None:
    """Reads the spec and keeps the server. Ends at once if the runner ends before it has sent the spec."""
    received = b""
    while b"\n" not in received:
        part = os.read(0, 65536)
        if not part:
            return
        received += part
    line, _, more = received.partition(b"\n")
    spec = Spec(**json.loads(line))
    os.chdir("/")

    def tell(**message: object) -> None:
        with suppress(BrokenPipeError):  # the runner is gone
            os.write(1, json.dumps(message).encode() + b"\n")

    adopt_orphans()
    try:
        Keeper(spec, RunnerWatch(spec.runner, bool(more)), tell).run()
    except SetupError as error:
        tell(failed=str(error), log="")


if __name__ == "__main__":
    main()
