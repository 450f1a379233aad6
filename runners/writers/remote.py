"""What runs on an executor's workers, which may be other machines, and how it is called there.

A call travels as bytes, and unpickling it makes the call: the function that an executor is given is `pickle.loads`. So
nothing between runner and worker (a Dask scheduler) needs keybench, and a worker without it says so.
"""

from __future__ import annotations

import hashlib
import pickle
import platform
import socket
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any

import keybench
from keybench.databases.contract import Address
from keybench.databases.core.coordination import HasCoordinationTable
from keybench.databases.hosting import secret
from keybench.databases.registry import engine
from keybench.errors import KeybenchError, ServerError
from keybench.generators.core.layout import layout
from keybench.runners.planning import server_keys
from keybench.runners.writers.barrier import BoardSeat
from keybench.runners.writers.writer import Load, Sent, write

Outcome = tuple[str, Any]
"""("result", value) or ("error", KeybenchError)."""

_PACKAGES = ("databases", "generators", "results", "runners", "scenarios")


@dataclass(frozen=True)
class Call:
    """A call as a value."""

    function: Callable[..., Any]
    arguments: tuple[Any, ...]

    def pickled(self) -> bytes:
        """Bytes that `pickle.loads` makes the call from; what it gives is an `Outcome`."""
        return pickle.dumps(self)

    def __reduce__(self) -> tuple[Callable[..., Outcome], tuple[Any, ...]]:
        return _outcome, (self.function, self.arguments)


def _outcome(function: Callable[..., Any], arguments: tuple[Any, ...]) -> Outcome:
    try:
        return "result", function(*arguments)
    except KeybenchError as error:
        return "error", error
    except Exception as error:  # a defect or a driver's surprise: reported as the trial's error
        return "error", ServerError(f"{type(error).__name__}: {error}")


@dataclass(frozen=True)
class Identity:
    """What a worker is."""

    machine: str
    keybench: str
    code: str
    """Fingerprint of keybench's modules and scenarios."""
    python: str


def identity() -> Identity:
    """This process's."""
    return Identity(socket.gethostname(), keybench.__version__, fingerprint(), platform.python_version())


@cache
def fingerprint() -> str:
    """Of the text of all of keybench's modules, 16 hexadecimal digits: the same in every copy of a version."""
    digest, root = hashlib.sha256(), Path(keybench.__file__).parent
    for path in sorted(path for package in _PACKAGES for path in (root / package).rglob("*.py")):
        text = path.read_bytes().replace(b"\r\n", b"\n")
        digest.update(f"{path.relative_to(root).as_posix()}\0{len(text)}\0".encode() + text)
    return digest.hexdigest()[:16]


def ready(name: str, address: Address, layouts: Sequence[str]) -> Identity:
    """Looks whether a writer can work here: layouts, engine, password, server; KeybenchError with the reason if not."""
    for wanted in layouts:
        if wanted not in server_keys.known():
            layout(wanted)
    on = engine(name)
    assert isinstance(on, HasCoordinationTable)
    on.coordination_table(_own(address)).close()
    return identity()


def write_remotely(work: Load, seat: BoardSeat) -> Sent:
    """`write`, with this machine's own password of the server."""
    address = _own(work.address)
    return write(replace(work, address=address), replace(seat, address=address))


def _own(address: Address) -> Address:
    return replace(address, secret=secret.elsewhere(address.secret)) if address.secret else address
