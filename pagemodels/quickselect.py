"""Quickselect for kernels: the k lowest of some integers, without sorting them all."""

from __future__ import annotations

from typing import Any

from numpy.typing import NDArray

from keybench.compiled import kernel

_SMALL = 12
"""Items that are sorted by insertion."""


@kernel
def select(items: NDArray[Any], n: int, k: int) -> None:
    """Moves the k lowest of the first n distinct items to the front; items[k] is then the lowest of the others."""
    low, high = 0, n
    while high - low > _SMALL:
        a, b, c = items[low], items[(low + high) >> 1], items[high - 1]
        pivot = max(min(a, b), min(max(a, b), c))
        border = low
        for i in range(low, high):  # without a branch on the comparison, which the processor could not predict
            item = items[i]
            items[i] = items[border]
            items[border] = item
            border += item < pivot
        if k < border:
            high = border
        else:
            low = border
    for i in range(low + 1, high):
        item = items[i]
        j = i
        while j > low and items[j - 1] > item:
            items[j] = items[j - 1]
            j -= 1
        items[j] = item
