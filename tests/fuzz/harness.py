"""One case of the fuzzer: a command with its files and environment, run in this process through keybench's own entry,
and what must hold whatever it was given."""

import contextlib
import functools
import gc
import io
import os
import re
import signal
import sys
import time
import traceback
import unicodedata
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import FrameType
from unittest.mock import patch

import typer

from keybench import cli
from keybench.results.atomic_file import STANDARD_OUTPUT

SECONDS = 20.0
"""Time limit of a case. The slowest takes a second; other processes may use the machine, too."""

EXIT_CODES = frozenset({0, 1, 2, 3, 4})
"""As DESIGN and `--help` name them; nobody interrupts a case."""

SECRET = "Zq7Wx9Kv3Jt5"
_PIECES = frozenset(SECRET[at : at + 5] for at in range(len(SECRET) - 4))

_UNEXPECTED = re.compile(r"failed: .*: \w+(?:Error|Exception): |Warning: ")


_built = functools.cache(typer.main.get_command)
"""typer builds a command's options anew each time, which takes longer than most cases."""


@dataclass(frozen=True)
class Case:
    """A command line, the files in its folder, and its environment variables."""

    arguments: tuple[str, ...]
    files: Mapping[str, bytes] = field(default_factory=dict)
    environment: Mapping[str, str] = field(default_factory=dict)
    special: Mapping[str, str] = field(default_factory=dict)
    """What is no file: by name `pipe`, `folder`, or what it links to."""
    closed: frozenset[str] = frozenset()
    """Names of standard streams that are closed: Python then has None in their place."""


@dataclass(frozen=True)
class Ending:
    """How a case ended. `failure` says what must not be; empty if all is well."""

    code: int | None
    output: str
    failure: str
    seconds: float


class TimeLimit(BaseException):
    """The case has taken too long. No `except Exception` of the program catches it."""


def run(case: Case, folder: Path, seconds: float = SECONDS) -> Ending:
    """Runs the case in an empty folder."""
    for name, content in case.files.items():
        (folder / name).write_bytes(content)
    for name, kind in case.special.items():
        if kind == "pipe":
            os.mkfifo(folder / name)
        elif kind == "folder":
            (folder / name).mkdir()
        else:
            (folder / name).symlink_to(kind)
    begin = time.monotonic()
    code, output, failure = None, "", ""
    with _inside(folder, case.environment), _captured() as (out, err):
        sys.argv = ["keybench", *case.arguments]
        for name in case.closed:
            setattr(sys, name, None)
        try:
            with _time_limit(seconds), patch.object(typer.main, "get_command", _built):
                cli.run()
        except SystemExit as end:
            code = end.code if isinstance(end.code, int) else 1
        except TimeLimit:
            failure = f"no end after {seconds:g} s:\n{traceback.format_exc()}"
        except BaseException:
            failure = traceback.format_exc()
        for name in case.closed:
            if stream := getattr(sys, name):  # what keybench has opened in its place
                stream.close()
        with contextlib.suppress(ValueError):
            out.flush()
        output = "\n".join(one.buffer.getvalue().decode("utf-8", "backslashreplace") for one in (out, err))  # type: ignore[attr-defined]
    failure = failure or _wrong(code, output, folder) or _foreign(case, output)
    return Ending(code, output, failure, time.monotonic() - begin)


def _wrong(code: int | None, output: str, folder: Path) -> str:
    if code not in EXIT_CODES:
        return f"exit code {code}"
    if "Traceback (most recent call last)" in output:
        return "a traceback on the terminal"
    if _UNEXPECTED.search(output):
        return "an unexpected exception in a trial"
    stored = [path.read_bytes() for path in folder.glob("*.sqlite*") if path.is_file()]
    for piece in _PIECES:
        if piece in output:
            return "a secret on the terminal"
        if any(piece.encode() in content for content in stored):
            return "a secret in the results"
    return ""


def _foreign(case: Case, output: str) -> str:
    """What a terminal would obey, where text is printed and not the exact content of a file."""
    exact = case.arguments[:1] == ("export",) or STANDARD_OUTPUT & set(case.arguments)
    unprintable = set(output) - {"\n"} if not exact else set()
    obeyed = {each for each in unprintable if not each.isprintable() and unicodedata.category(each) != "Zs"}
    return f"{sorted(obeyed)!r} on the terminal" if obeyed else ""


@contextlib.contextmanager
def _inside(folder: Path, environment: Mapping[str, str]) -> Iterator[None]:
    before, where, arguments, stdin = dict(os.environ), Path.cwd(), sys.argv, sys.stdin
    for name in before:
        if name.startswith(("KEYBENCH_", "PG", "COLUMNS")):
            del os.environ[name]
    home = {"KEYBENCH_TMP": str(folder), "NO_COLOR": "1", "DOCKER_HOST": "unix:///nonexistent/docker.sock"}
    os.environ |= {**home, **environment}
    os.chdir(folder)
    try:
        yield
    finally:
        os.chdir(where)
        sys.argv, sys.stdin = arguments, stdin
        os.environ.clear()
        os.environ |= before
        gc.enable()  # a command that ends its process may have disabled it


@contextlib.contextmanager
def _captured() -> Iterator[tuple[io.TextIOWrapper, io.TextIOWrapper]]:
    """Standard output and error as a terminal in UTF-8 has them: the first refuses what is no text."""
    out = io.TextIOWrapper(io.BytesIO(), "utf-8", "strict", write_through=True)
    err = io.TextIOWrapper(io.BytesIO(), "utf-8", "backslashreplace", write_through=True)
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        yield out, err


@contextlib.contextmanager
def _time_limit(seconds: float) -> Iterator[None]:
    """Raises TimeLimit in the block after so many seconds. The tests' own limit ends a loop in C that never returns."""
    before = signal.signal(signal.SIGALRM, _alarm)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def _alarm(_number: int, _frame: FrameType | None) -> None:
    raise TimeLimit
