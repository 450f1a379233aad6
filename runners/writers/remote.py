"""Functions that run on an executor's workers, which may be on other machines, and how they are called there.

A call travels as bytes, and unpickling the bytes makes the call: the function that the executor runs is `pickle.loads`.
So nothing between runner and worker (a Dask scheduler) needs keybench, and a worker without keybench fails with an
import error.
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
from keybench.databases.contract.roles import Address
from keybench.databases.core.coordination import HasCoordinationTable
from keybench.databases.hosting import secret
from keybench.databases.registry import engine
from keybench.errors import KeybenchError, unexpected
from keybench.generators.core.layout import layout
from keybench.runners.planning import server_keys
from keybench.runners.writers.table_barrier import TableBarrierHandle
from keybench.runners.writers.writer import WriterResult, WriterTask, write

Outcome = tuple[str, Any]
"""("result", value) or ("error", KeybenchError)."""


@dataclass(frozen=True)
class Call:
    """A function call as a value."""

    function: Callable[..., Any]
    arguments: tuple[Any, ...]

    def pickled(self) -> bytes:
        """Bytes that make the call when they are unpickled, and give its `Outcome`."""
        return pickle.dumps(self)

    def __reduce__(self) -> tuple[Callable[..., Outcome], tuple[Any, ...]]:
        return _outcome, (self.function, self.arguments)


def _outcome(function: Callable[..., Any], arguments: tuple[Any, ...]) -> Outcome:
    try:
        return "result", function(*arguments)
    except KeybenchError as error:
        return "error", error
    except Exception as error:  # a defect, or an exception that a driver does not document
        return "error", unexpected(error)


@dataclass(frozen=True)
class WorkerIdentity:
    """The machine, keybench and Python of a process."""

    machine: str
    keybench: str
    code: str
    """`fingerprint()`."""
    python: str


def identity() -> WorkerIdentity:
    """The identity of this process."""
    return WorkerIdentity(socket.gethostname(), keybench.__version__, fingerprint(), platform.python_version())


@cache
def fingerprint() -> str:
    """16 hexadecimal digits that depend on the text of all modules in keybench's folders, and on nothing else."""
    digest, root = hashlib.sha256(), Path(keybench.__file__).parent
    folders = sorted(path.parent for path in root.glob("*/__init__.py"))  # some are links, which rglob does not follow
    for path in sorted(path for folder in folders for path in folder.rglob("*.py")):
        text = path.read_bytes().replace(b"\r\n", b"\n")
        digest.update(f"{path.relative_to(root).as_posix()}\0{len(text)}\0".encode() + text)
    return digest.hexdigest()[:16]


def ready(name: str, address: Address, layouts: Sequence[str]) -> WorkerIdentity:
    """Checks that a writer can work here: layouts, engine, password, server. KeybenchError with the reason if not."""
    for chosen in layouts:
        if chosen not in server_keys.known():
            layout(chosen)
    on = engine(name)
    assert isinstance(on, HasCoordinationTable)
    on.coordination_table(_with_own_password(address)).close()
    return identity()


def write_remotely(task: WriterTask, handle: TableBarrierHandle) -> WriterResult:
    """As `write`, but with this machine's password for the server."""
    address = _with_own_password(task.address)
    return write(replace(task, address=address), replace(handle, address=address))


def _with_own_password(address: Address) -> Address:
    return replace(address, secret=secret.elsewhere(address.secret)) if address.secret else address
