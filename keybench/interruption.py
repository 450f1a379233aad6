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
    """From now on, the signals interrupt. One that is ignored stays so: `nohup` does that, and a shell's `&`."""
    _received.clear()
    for number in _NUMBERS:
        if signal.getsignal(number) != signal.SIG_IGN:
            signal.signal(number, _interrupt)


def _interrupt(number: int, _: FrameType | None) -> NoReturn:
    _received.append(number)
    raise KeyboardInterrupt


def received() -> bool:
    """Whether a signal has come. The exception alone does not say so: Python may have made another one of the
    KeyboardInterrupt, as in `__set_name__`."""
    return bool(_received)


def ignore() -> None:
    """From now on, the signals do nothing: the command has ended, and its exit code is known."""
    for number in _NUMBERS:
        signal.signal(number, signal.SIG_IGN)
    # If a KeyboardInterrupt left code that `exec` ran, such as that of a named tuple, Python would end by the signal
    # although the exception was handled. Another `exec` makes it forget that.
    exec("")  # noqa: S102
