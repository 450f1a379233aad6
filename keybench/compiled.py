"""Loops compiled by numba, for what numpy cannot say in whole arrays. Importing this imports numba (0.25 s)."""

from __future__ import annotations

import hashlib
import shutil
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any, ParamSpec, TypeVar, cast

import numba
import numpy as np

P = ParamSpec("P")
R = TypeVar("R")

int64 = cast("Callable[[Any], int]", np.int64)
"""To kernels `np.int64`, which no literal and no narrower number is: each of those would be compiled anew."""

_NAME = b"keybench.compiled"
_PREFIX = "kernels-"


def kernel(function: Callable[P, R]) -> Callable[P, R]:
    """Compiles a function of numbers and arrays at its first call for each set of argument types.

    The machine code is kept (`_directory`; beside the module, or in the user's cache directory, where that cannot be
    written), so that a second process starts at once. The lock of the interpreter is released while it runs, and
    indices are not checked: tests do that (`NUMBA_BOUNDSCHECK=1`).
    """
    found: Callable[P, R] = _kept(lambda **kept: numba.njit(nogil=True, error_model="numpy", **kept)(function))
    return found


def inlined(function: Callable[P, R]) -> Callable[P, R]:
    """As `kernel`, for what is a line, or what only one other kernel calls, and often: it becomes a part of its caller.

    A call hands over seven words for each array, and counts references to it: more work than many a short loop.
    """
    found: Callable[P, R] = _kept(
        lambda **kept: numba.njit(nogil=True, error_model="numpy", forceinline=True, **kept)(function)
    )
    return found


def elementwise(rule: Callable[..., Any]) -> Callable[..., Any]:
    """Compiles a rule of numbers into one for arrays of one shape; where the machine code is kept, `kernel` says."""
    found: Callable[..., Any] = _kept(lambda **kept: numba.vectorize(**kept)(rule))  # type: ignore[no-untyped-call]
    return found


def _kept(compiled: Callable[..., Any]) -> Any:
    """What `compiled(cache=True)` gives, with `_directory` for the machine code."""
    settings: Any = numba.config
    given = settings.CACHE_DIR
    try:
        settings.CACHE_DIR = given or _directory()
        return compiled(cache=True)
    except RuntimeError:  # there is no directory at all that can be written: every process compiles anew
        return compiled()
    finally:
        settings.CACHE_DIR = given


@cache
def _directory() -> str:
    """Where machine code is kept: a folder named by the text of all modules with kernels; those of other texts go.

    By itself numba looks at the module of a kernel alone, and goes on using code into which a kernel of another module,
    changed since, was compiled.
    """
    root = Path(__file__).parent
    folder = root / "__pycache__" / f"{_PREFIX}{_fingerprint(root)}"
    for other in folder.parent.glob(f"{_PREFIX}*"):
        if other != folder:
            shutil.rmtree(other, ignore_errors=True)
    return str(folder)


def _fingerprint(root: Path) -> str:
    digest = hashlib.sha256()
    for package in sorted(path.parent for path in root.glob("*/__init__.py")):
        for path in sorted(package.rglob("*.py")):
            text = path.read_bytes()
            if _NAME in text:
                digest.update(f"{path.relative_to(root)}\0{len(text)}\0".encode() + text)
    return digest.hexdigest()[:16]
