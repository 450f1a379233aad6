"""Says when kernels are compiled: at their first use on a machine, for which a minute may pass.

Not in `compiled`, because that names the modules with kernels: when one of these changes, all are compiled anew.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from numba.core import event


@contextmanager
def when_compiling(say: Callable[[], None]) -> Iterator[None]:
    """Calls `say` once, as soon as a kernel is compiled; never if all machine code comes from the cache."""
    with event.install_listener("numba:compile", _Compiling(say)):
        yield


class _Compiling(event.Listener):
    """Hears an event that comes only if the cache lacks machine code (`numba.core.dispatcher.Dispatcher.compile`)."""

    def __init__(self, say: Callable[[], None]) -> None:
        self._say: Callable[[], None] | None = say

    def on_start(self, event: object) -> None:  # noqa: ARG002 (numba's signature)
        """Calls `say` at the first compilation."""
        say, self._say = self._say, None  # later ones find None
        if say:
            say()

    def on_end(self, event: object) -> None:
        """Nothing to tell."""
