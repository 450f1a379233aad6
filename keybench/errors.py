"""Errors that keybench can explain to the user.

KeybenchError            a message that ends with the next step; shown without a traceback
├── UsageError           wrong input: exit 2
├── EnvironmentMissing   no server, driver, daemon, disk: exit 4
│   └── RunStopped       and no other trial can work either: the run stops, --resume goes on
├── ServerError          a server refused, failed or went away during a trial: that trial's error
│   └── ServerGone       it went away: --resume repeats the trial
└── VerificationError    a table does not hold what was acknowledged: that trial's error
"""

from collections.abc import Iterable
from difflib import get_close_matches
from traceback import format_exception
from typing import Final

_SHOWN: Final = 100
"""Characters of a wrong value that a message shows."""


class KeybenchError(Exception):
    """Base of every error whose message is for the user; `exit_code` is the command's."""

    exit_code = 1
    traceback = ""
    """Traceback, as text, of the unexpected exception that this error reports (`unexpected`); else empty."""


class UsageError(KeybenchError):
    """A name, number, file or option that is wrong."""

    exit_code = 2


class EnvironmentMissing(KeybenchError):
    """Something that the command needs is missing on this machine or does not answer."""

    exit_code = 4


class RunStopped(EnvironmentMissing):
    """Something is missing that all trials of the run need. It stops the run and is no single trial's error."""


class ServerError(KeybenchError):
    """A database server refused a statement, failed, or went away."""


class Aborted(ServerError):
    """The server rolled the transaction back in favour of another one. It may succeed if it is tried again."""


class DeadlockVictim(Aborted):
    """The server ended a deadlock by rolling this transaction back."""


class ServerGone(ServerError):
    """A database server went away during a trial, whatever that trial did."""


class VerificationError(KeybenchError):
    """A table does not hold exactly the rows that were acknowledged."""


def unexpected(error: Exception) -> ServerError:
    """The error of a trial for any other exception: a defect, or an exception that a driver does not document. It keeps
    the traceback, also when it is pickled for another process."""
    reported = ServerError(f"{type(error).__name__}: {error}")
    reported.traceback = "".join(format_exception(error))
    return reported


def shortened(value: object) -> str:
    """A value as Python writes it, cut off where a message would no longer be read."""
    text = repr(value)
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}…"


def unknown_name(kind: str, name: str, known: Iterable[str]) -> UsageError:
    """The error for a name that is not among `known`. It lists close matches, and all names where they are few."""
    names = sorted(known)
    many = len(names) > _FEW  # too many to list
    near = get_close_matches(name[:_SHOWN], names, n=5 if many else 3, cutoff=0.5)
    hint = f" Did you mean {' or '.join(near)}?" if near else ""
    if many:
        lists = f" `keybench list {kind}s` has all." if kind in _LISTED else ""
        return UsageError(f"unknown {kind} {shortened(name)}.{hint}{lists}")
    return UsageError(f"unknown {kind} {shortened(name)}.{hint} Known: {', '.join(names) or 'none'}.")


_FEW: Final = 24
"""Names that a message lists."""
_LISTED: Final = ("layout", "scenario")
"""What `keybench list` lists."""
