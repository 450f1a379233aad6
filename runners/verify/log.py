"""The console of a verification: what it prints also goes into a file, line by line, so that a kill loses nothing."""

from __future__ import annotations

import zipfile
from errno import EISDIR
from pathlib import Path
from typing import Any, TextIO

from rich.console import Console

from keybench.errors import UsageError
from keybench.runners.verify.private import line_without_times

LOG = "log.txt"
"""Its name in the bundle."""


class LoggedConsole(Console):
    """A console that also writes its lines of text to a file. Neither has times: logs of CI are public, too.

    Progress bars are not logged.
    """

    def __init__(self, log: TextIO, **options: Any) -> None:
        super().__init__(highlight=False, **options)
        self._log = log

    def print(self, *objects: Any, **options: Any) -> None:
        """Prints, and logs what is text."""
        if not objects or not all(isinstance(one, str) for one in objects):
            super().print(*objects, **options)
            return
        text = "\n".join(map(line_without_times, " ".join(objects).split("\n")))
        super().print(text, **options)
        self._log.write(f"{text}\n")
        self._log.flush()


def open_log(bundle: Path) -> TextIO:
    """The file beside the `bundle` to which lines are appended. If there is none yet, it begins with the log of an
    earlier bundle of that name.

    UsageError if the bundle cannot be written there.
    """
    try:
        if not bundle.name or bundle.is_dir():
            raise IsADirectoryError(EISDIR, "it is a folder")
        path = bundle.with_name(f"{bundle.name}.log")
        earlier = "" if path.exists() else _log_in(bundle)
        log = path.open("a", encoding="utf-8")
        log.write(earlier)
        return log
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else str(error)
        raise UsageError(f"--output {bundle} cannot be written ({reason}): name a file elsewhere.") from None


def _log_in(bundle: Path) -> str:
    """The log in a bundle; empty if there is none that can be read."""
    try:
        with zipfile.ZipFile(bundle) as archive:
            return archive.read(LOG).decode("utf-8")
    except (OSError, KeyError, ValueError, zipfile.BadZipFile):
        return ""
