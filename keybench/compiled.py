"""Loops compiled by numba, for what numpy cannot say in whole arrays. Importing this imports numba (0.25 s)."""

from __future__ import annotations

import hashlib
import shutil
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any, ParamSpec, TypeVar, cast

import numba
import numpy as np

P = ParamSpec("P")
R = TypeVar("R")

int64 = cast("Callable[[Any], int]", np.int64)
"""`np.int64` in kernels, where a variable would have two types."""

_MARKS = b"keybench.compiled", b"numba"
"""Texts by which modules with compiled code are known."""
_PREFIX = "kernels-"


def kernel(function: Callable[P, R]) -> Callable[P, R]:
    """Compiles a function of numbers and arrays at its first call for each set of argument types.

    A call from another kernel passes signed integers as int64, and literals without their values (`_of_few_types`).

    The machine code is cached (`_directory`; if that cannot be written, in the user's cache directory), so that a
    second process starts at once. The function releases the interpreter lock and does not check indices. Tests do that
    (`NUMBA_BOUNDSCHECK=1`).
    """
    compiled: Callable[P, R] = _of_few_types(
        _cached(lambda **cache: numba.njit(nogil=True, error_model="numpy", **cache)(function))
    )
    return compiled


def inlined(function: Callable[P, R]) -> Callable[P, R]:
    """As `kernel`, for a function that becomes part of its caller: one line, or called often by one kernel only.

    A call passes seven words for each array and counts references to it. That is more work than many short loops.
    """
    compiled: Callable[P, R] = _of_few_types(
        _cached(lambda **cache: numba.njit(nogil=True, error_model="numpy", forceinline=True, **cache)(function))
    )
    return compiled


def _of_few_types(compiled: Any) -> Any:
    """The same kernel, which other kernels call with one type for all signed integers.

    For numba each literal has a type of its own, and each width: it would compile `touch(page, True)` and
    `touch(page, False)` apart, and once more for a page from an int32 array. Types of unsigned integers stay: what is
    computed from them depends on it. The call is resolved by numba.core.types.functions.Dispatcher.get_call_type.
    """
    resolve = compiled.get_call_template

    def get_call_template(args: Sequence[Any], kws: Mapping[str, Any]) -> Any:
        return resolve([_plain(each) for each in args], {name: _plain(each) for name, each in kws.items()})

    compiled.get_call_template = get_call_template
    return compiled


def _plain(given: Any) -> Any:
    types: Any = numba.types
    plain = types.unliteral(given)
    return types.int64 if isinstance(plain, types.Integer) and plain.signed else plain


def _cached(compile_: Callable[..., Any]) -> Any:
    """The result of `compile_(cache=True)`, with the machine code in `_directory`."""
    settings: Any = numba.config
    given = settings.CACHE_DIR
    try:
        settings.CACHE_DIR = given or _directory()
        return compile_(cache=True)
    except RuntimeError:  # no directory can be written: every process compiles anew
        return compile_()
    finally:
        settings.CACHE_DIR = given


@cache
def _directory() -> str:
    """The folder of machine code, named by a hash of all modules with kernels. Folders of other hashes are removed.

    Left to itself, numba only watches a kernel's own module. It would go on using machine code that contains an older
    version of another module's kernel.
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
            if any(mark in text for mark in _MARKS):
                digest.update(f"{path.relative_to(root)}\0{len(text)}\0".encode() + text)
    return digest.hexdigest()[:16]
