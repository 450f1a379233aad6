"""When keys are made by compiled kernels, and when by numpy.

numpy passes over a whole array for each step of a rule. A kernel takes several steps in one pass and costs a third or
less. But importing numba takes a quarter of a second, in which numpy makes tens of millions of keys. So the kernels are
loaded when a million keys or more are asked for at once, and this process then keeps using them. Both ways make the
same keys.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from types import ModuleType

MANY: Final = 1 << 20
"""Keys asked for at once from which on the kernels are loaded."""

_FEW: Final = 2_048
"""Keys in an array below which a call of numpy costs no more than a call of a kernel."""

_kernels: ModuleType | None = None


def load_kernels(n: int = MANY) -> None:
    """Imports the kernels if `n`, the keys asked for at once, are enough to pay for it."""
    global _kernels
    # The kernels are written for little-endian words, as on all machines where numba runs.
    if _kernels is None and n >= MANY and sys.byteorder == "little":
        from keybench.generators.core.loops import key_kernels

        _kernels = key_kernels


def kernels_for(n: int) -> Any:
    """The module `key_kernels` for an array of `n` keys; None where numpy should do the work."""
    return _kernels if n >= _FEW else None


class Elementwise:
    """A rule for single elements, written once: numpy evaluates it on arrays, or numba compiles it.

    The rule uses operators, and numpy's types to convert: `np.int64(x)` converts arrays as well as numbers.
    """

    def __init__(self, rule: Callable[..., Any]) -> None:
        self._rule = rule
        self._compiled: Callable[..., Any] | None = None

    def __call__(self, *arrays: Any) -> Any:
        """The rule's value for arrays of one length."""
        if kernels_for(len(arrays[0])) is None:
            return self._rule(*arrays)
        if self._compiled is None:
            from keybench.compiled import elementwise

            self._compiled = elementwise(self._rule)
        return self._compiled(*arrays)
