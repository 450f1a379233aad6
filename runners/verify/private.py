"""What a file that is sent away must not hold: passwords, places of this machine, the name of a server, and times.

Passwords never reach results or errors in the first place. Here they are looked for once more, before a file leaves the
machine. Times are left out because SQL Server's and Oracle's licences restrict publishing them, and because no question
of a verification is about time.
"""

from __future__ import annotations

import os
import re
import sys
import tempfile
from collections.abc import Iterable, Mapping
from dataclasses import fields, replace
from datetime import datetime
from enum import Enum
from pathlib import Path
from typing import Any, TypeVar

from keybench.databases.hosting import secret
from keybench.locked_folder import base_directory
from keybench.model.metric import Metric
from keybench.model.reading import Reading
from keybench.model.url import is_url, parse
from keybench.results.store.records import Environment, Run, Trial

NO_TIMES = "Times are left out of files that are sent away: licences of databases restrict publishing them."
_UNITS_OF_TIME = frozenset({"s", "ms", "µs", "ns", "µs a row"})
_SHORTEST = 4
"""Characters of the shortest path or password that is replaced: shorter ones occur by chance."""
_SPEED = re.compile(r": \d[\d.,]* s, [\d.,]+ rows/s$")

T = TypeVar("T")


class Private:
    """Replaces what is private in texts and records."""

    def __init__(self, servers: Iterable[str] = ()) -> None:
        """`servers` are those whose user and host are private: URLs without passwords, or kinds, which hold none."""
        places = {
            os.path.expanduser("~"): "~",  # noqa: PTH111 (as the environment spells it)
            str(Path.cwd()): ".",
            str(base_directory()): "<servers>",
            tempfile.gettempdir(): "<temporary>",
            sys.prefix: "<python>",
            str(Path(__file__).resolve().parent.parent): "<keybench>",
            **_places(servers),
        }
        spelled = {form: put for text, put in places.items() for form in _forms(text) if len(form) >= _SHORTEST}
        found = [(text, rf"(?<![\w.]){re.escape(text)}(?![\w-])", put) for text, put in spelled.items()]
        passwords = {*secret.of_this_process().values(), *_passwords_of_files()}
        found += [(text, re.escape(text), "***") for text in passwords if len(text) >= _SHORTEST]
        found.sort(key=lambda one: len(one[0]), reverse=True)
        self._longest_first = [(re.compile(pattern), put) for _, pattern, put in found]

    def text(self, text: str) -> str:
        """The text without what is private."""
        for private, put in self._longest_first:
            text = private.sub(lambda _, put=put: put, text)  # type: ignore[misc]
        return text

    def record(self, value: T) -> T:
        """A record, or any value inside one, with every text replaced. Numbers, enums and arrays stay as they are."""
        return self._record(value)  # type: ignore[no-any-return]

    def _record(self, value: Any) -> Any:
        if isinstance(value, str) and not isinstance(value, Enum):
            return self.text(value)
        if isinstance(value, Mapping):
            return {self._record(key): self._record(one) for key, one in value.items()}
        if isinstance(value, list | tuple):
            return type(value)(self._record(one) for one in value)
        if isinstance(value, Run | Environment | Trial | Reading):
            changed = {field.name: self._record(getattr(value, field.name)) for field in fields(value)}
            return replace(value, **changed)
        return value


def _forms(text: str) -> set[str]:
    """How a path may be written: as it is, as Python shows it, and where a link leads."""
    return {text, repr(text)[1:-1], *([os.path.realpath(text)] if Path(text).is_absolute() else [])}


def _passwords_of_files() -> list[str]:
    """The password in the file that the user named, if it can be read."""
    given = secret.from_url("")
    if given is None or not given.file:
        return []
    try:
        return [given.reveal()]
    except Exception:  # an unreadable file has given nobody a password
        return []


def _places(servers: Iterable[str]) -> dict[str, str]:
    """User and host of each server that is given by a URL."""
    found: dict[str, str] = {}
    for server in servers:
        if is_url(server) and (url := parse(server)):
            found |= {f"{url.user}@{url.hosts}": "user@host", url.hosts: "host"}
            found |= {one.partition(":")[0]: "host" for one in url.hosts.split(",")}
    return found


def without_times(trial: Trial, began: datetime) -> Trial:
    """The trial without what says how long anything took: its readings of time are absent, with the reason."""
    readings = tuple(
        Reading(one.metric, None, "absent", NO_TIMES, one.subject)
        if _is_time(one.metric) and one.value is not None
        else one
        for one in trial.readings
    )
    series = tuple(one for one in trial.series if not _is_time(one.metric))
    return replace(trial, readings=readings, series=series, started=began, seconds=0.0)


def line_without_times(line: str) -> str:
    """A line of the log without the time and the speed of a trial."""
    return _SPEED.sub(": ok", line)


def _is_time(metric: Metric) -> bool:
    return metric.definition.unit in _UNITS_OF_TIME
