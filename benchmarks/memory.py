"""Memory that stays with the process, so that what is timed is work and not the system's handing out of pages.

Large arrays otherwise come from the system each time and go back to it, and the first touch of each page is cleared
by the kernel: on a virtual machine that costs many times the work on the page.
"""

from __future__ import annotations

import ctypes
import platform
from typing import Final

import numpy as np

_M_TRIM_THRESHOLD: Final = -1
_M_MMAP_MAX: Final = -4
_NEVER: Final = 2**31 - 1


def keep(size: int) -> bool:
    """Makes glibc keep freed memory, and touches so many bytes once; False, and nothing done, without glibc.

    mallopt(3): no array is mapped on its own any more (M_MMAP_MAX; M_MMAP_THRESHOLD ends at 32 MiB), and nothing freed
    is given back (M_TRIM_THRESHOLD). Both hold until the process ends.
    """
    if platform.libc_ver()[0] != "glibc":
        return False
    mallopt = ctypes.CDLL(None).mallopt
    kept = bool(mallopt(_M_MMAP_MAX, 0)) and bool(mallopt(_M_TRIM_THRESHOLD, _NEVER))
    if kept:
        np.ones(size, np.uint8)
    return kept
