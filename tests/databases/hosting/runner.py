"""A runner to be ended in every way: `python runner.py WHAT` says `go`, starts, and waits for its end."""

import os
import sys
import time

from keybench.databases.hosting.private_folder import PrivateFolder


def sleeper() -> PrivateFolder:
    """A server that is set up in two steps that take a moment."""
    setup = [["sh", "-c", "sleep 0.05; mkdir data"], ["sh", "-c", "sleep 0.05 & wait; echo made > data/file"]]
    return PrivateFolder("test", setup=setup, server=["sleep", "600"])


def main() -> None:
    """Starts, says so, and does as told."""
    kept = sleeper()
    print("go", flush=True)
    try:
        kept.start(10)
        print("up", kept.server_pid, kept.folder, flush=True)
        if sys.argv[1] == "exit":
            sys.exit(0)  # without a stop
        if sys.argv[1] == "abort":
            os.abort()
        if sys.argv[1] == "fork" and os.fork() == 0:
            time.sleep(5)  # holds all of the runner's descriptors
            os._exit(0)
        time.sleep(600)
    except KeyboardInterrupt:
        kept.stop()


if __name__ == "__main__":
    main()
