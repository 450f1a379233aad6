"""Writing the files that users name: atomically, through symbolic links, and to standard output as `-`."""

import errno
import os
import stat
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from keybench.errors import UsageError
from keybench.locked_folder import base_directory, locked_folder

STANDARD_OUTPUT: Final = frozenset({"-", "/dev/stdout", "/dev/fd/1", "/proc/self/fd/1"})


@contextmanager
def atomic_file(path: Path, another: str = "give -o another file") -> Iterator[Path]:
    """Gives a temporary file to write to, and renames it to `path`, or to what `path` links to, at the end.

    If `path` is in STANDARD_OUTPUT, the content goes to standard output. If anything is raised, an existing `path`
    stays unchanged. Raises UsageError, with `another` as the next step, if `path` cannot be written or is no regular
    file: a device or a pipe would be replaced, and not written to.
    """
    try:
        if str(path) in STANDARD_OUTPUT:
            with locked_folder(base_directory(), "output") as folder:
                part = folder / "part"
                yield part
                content = part.read_bytes()
            sys.stdout.buffer.write(content)
            return
        target = _target(path, another)
        part = target.with_name(f".keybench-{os.getpid()}.part")  # a long name has no room for more
        try:
            yield part
            part.replace(target)
        finally:
            part.unlink(missing_ok=True)
    except BrokenPipeError:  # nobody reads standard output any more, which is no error
        raise
    except OSError as error:
        raise UsageError(f"{path} cannot be written ({error.strerror}): {another}.") from None


def _target(path: Path, another: str) -> Path:
    """The path behind all links; the file need not exist. UsageError or OSError if it is no regular file."""
    try:
        mode = path.stat().st_mode
    except FileNotFoundError:
        mode = stat.S_IFREG  # a new file will be a regular one
    except ValueError:
        raise OSError(errno.EINVAL, "its name holds a NUL") from None
    if stat.S_ISDIR(mode):
        raise OSError(errno.EISDIR, os.strerror(errno.EISDIR))
    if not stat.S_ISREG(mode):
        raise UsageError(f"{path} is no regular file: {another}, or - for standard output.")
    return Path(os.path.realpath(path))


def written(path: Path) -> str:
    """The line that says which file was written; empty if it went to standard output."""
    return "" if str(path) in STANDARD_OUTPUT else f"{path}\n"
