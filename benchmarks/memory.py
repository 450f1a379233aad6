"""Keeps freed memory in the process, so that a timing does not include getting pages from the system.

Otherwise large arrays come from the system each time and go back to it, and the kernel clears each page when it is
first touched. On a virtual machine that costs many times the work on the page.
"""

import ctypes
import platform
from typing import Final

import numpy as np

_M_TRIM_THRESHOLD: Final = -1
_M_MMAP_MAX: Final = -4
_NEVER: Final = 2**31 - 1


def keep(size: int) -> bool:
    """Makes glibc keep freed memory, and touches `size` bytes once. Does nothing and returns False without glibc.

    mallopt(3): no array gets a mapping of its own (M_MMAP_MAX; M_MMAP_THRESHOLD ends at 32 MiB), and freed memory is
    not returned (M_TRIM_THRESHOLD). Both last until the process ends.
    """
    if platform.libc_ver()[0] != "glibc":
        return False
    mallopt = ctypes.CDLL(None).mallopt
    kept = bool(mallopt(_M_MMAP_MAX, 0)) and bool(mallopt(_M_TRIM_THRESHOLD, _NEVER))
    if kept:
        np.ones(size, np.uint8)
    return kept
