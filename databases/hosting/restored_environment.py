"""Temporary changes to environment variables."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def restored(prefix: str) -> Iterator[None]:
    """Restores, when the block ends, all environment variables whose names begin with `prefix`."""
    before = {name: value for name, value in os.environ.items() if name.startswith(prefix)}
    try:
        yield
    finally:
        for name in [name for name in os.environ if name.startswith(prefix)]:
            del os.environ[name]
        os.environ.update(before)
