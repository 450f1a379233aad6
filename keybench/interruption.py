"""Signals that interrupt a command: Ctrl-C, SIGTERM, and SIGHUP of a terminal that is closed.

Each raises KeyboardInterrupt, so that the command ends in order, with exit code 130. This module needs only the standard
library, because it comes first (`keybench.__main__`).
"""

import signal

_NUMBERS = [getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGHUP") if hasattr(signal, name)]  # Windows: two


def listen() -> None:
    """From now on, they interrupt. One that is ignored, as `nohup` and shells in the background have it, stays so."""
    for number in _NUMBERS:
        if signal.getsignal(number) != signal.SIG_IGN:
            signal.signal(number, signal.default_int_handler)


def ignore() -> None:
    """From now on, they do nothing: the command has ended, and its exit code is known."""
    for number in _NUMBERS:
        signal.signal(number, signal.SIG_IGN)
