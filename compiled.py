"""Loops compiled by numba, for what numpy cannot say in whole arrays. Importing this imports numba (0.25 s)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ParamSpec, TypeVar

import numba

P = ParamSpec("P")
R = TypeVar("R")


def kernel(function: Callable[P, R]) -> Callable[P, R]:
    """Compiles a function of numbers and arrays at its first call for each set of argument types.

    The machine code is kept beside the module (or in `NUMBA_CACHE_DIR`, or in the user's cache directory where that
    cannot be written), so that a second process starts at once. The lock of the interpreter is released while it runs,
    and indices are not checked: tests do that (`NUMBA_BOUNDSCHECK=1`).
    """
    compiled: Callable[P, R] = numba.njit(cache=True, nogil=True, error_model="numpy")(function)
    return compiled


def elementwise(rule: Callable[..., Any]) -> Callable[..., Any]:
    """Compiles a rule of numbers into one for arrays of one shape; where the machine code is kept, `kernel` says."""
    compiled: Callable[..., Any] = numba.vectorize(cache=True)(rule)  # type: ignore[no-untyped-call]
    return compiled
