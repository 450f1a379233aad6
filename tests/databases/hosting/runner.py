"""A runner that the tests end in every way: `python runner.py WHAT` prints `go`, starts a server, and waits."""

import os
import sys
import time

from keybench.databases.hosting.private_server import PrivateFolder


def sleeper() -> PrivateFolder:
    """A server whose setup has two steps, each of which takes a moment."""
    setup = [["sh", "-c", "sleep 0.05; mkdir data"], ["sh", "-c", "sleep 0.05 & wait; echo made > data/file"]]
    return PrivateFolder("test", setup=setup, server=["sleep", "600"])


def main() -> None:
    """Starts the server, prints `up`, and ends as the argument says."""
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
