"""When keys are made by compiled loops, and when by numpy.

Numpy passes over a whole array for each step of a rule; a compiled loop takes several steps in one pass and costs a
third or less. But numba takes a quarter of a second to import, in which numpy makes tens of millions of keys. So the
loops are brought when a million keys or more are asked for at once, and stay at work for this process from then on.
Whichever way is taken, the keys are the same.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from types import ModuleType

MANY: Final = 1 << 20
"""Keys at once that bring the loops."""

_FEW: Final = 2_048
"""Keys in an array below which numpy's calls cost no more than those of numba."""

_loops: ModuleType | None = None


def bring(n: int = MANY) -> None:
    """Imports the compiled loops where `n` keys, all that are going to be asked for, are worth it."""
    global _loops
    # The loops are written for little-endian words, which is what all machines that numba runs on have.
    if _loops is None and n >= MANY and sys.byteorder == "little":
        from keybench.generators.core.loops import keys as compiled

        _loops = compiled


def loops(n: int) -> Any:
    """The module of compiled loops, for an array of `n` keys; None where numpy is to do the work."""
    return _loops if n >= _FEW else None


class Elementwise:
    """A rule for each element by itself, written once: numpy evaluates it on arrays, or numba compiles it.

    The rule uses operators, and numpy's types where it converts: `np.int64(x)` converts an array as well as a number.
    """

    def __init__(self, rule: Callable[..., Any]) -> None:
        self._rule = rule
        self._compiled: Callable[..., Any] | None = None

    def __call__(self, *arrays: Any) -> Any:
        """The rule's value for arrays of one length."""
        if loops(len(arrays[0])) is None:
            return self._rule(*arrays)
        if self._compiled is None:
            from keybench.compiled import elementwise

            self._compiled = elementwise(self._rule)
        return self._compiled(*arrays)
