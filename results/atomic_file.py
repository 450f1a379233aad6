"""Writing files atomically."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def atomic_file(path: Path) -> Iterator[Path]:
    """Gives a temporary file beside `path` to write to, and renames it to `path` at the end. If anything is raised, the
    temporary file is removed and an existing `path` stays unchanged."""
    part = path.with_name(f".{path.name}.{os.getpid()}.part")
    try:
        yield part
        part.replace(path)
    finally:
        part.unlink(missing_ok=True)
