"""Signals that interrupt a command: Ctrl-C, SIGTERM, and SIGHUP of a terminal that is closed.

Each raises KeyboardInterrupt, so that the command ends in order, with exit code 130. This module needs no other one, as
it comes first (`keybench.__main__`).
"""

import signal
from types import FrameType
from typing import NoReturn

_NUMBERS = [getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGHUP") if hasattr(signal, name)]  # Windows: two
_received: list[int] = []


def listen() -> None:
    """From now on, they interrupt. One that is ignored, as `nohup` and shells in the background have it, stays so."""
    _received.clear()
    for number in _NUMBERS:
        if signal.getsignal(number) != signal.SIG_IGN:
            signal.signal(number, _interrupt)


def _interrupt(number: int, _: FrameType | None) -> NoReturn:
    _received.append(number)
    raise KeyboardInterrupt


def received() -> bool:
    """Whether one has come. Python may have made another exception of the KeyboardInterrupt, as in `__set_name__`."""
    return bool(_received)


def ignore() -> None:
    """From now on, they do nothing: the command has ended, and its exit code is known."""
    for number in _NUMBERS:
        signal.signal(number, signal.SIG_IGN)
    # If a KeyboardInterrupt left code that is run from a text, as that of a named tuple, Python would end by the signal
    # although the exception was handled. The next such code makes it forget that.
    exec("")  # noqa: S102
