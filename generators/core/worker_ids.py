"""The number of a writer, in the bits that a layout has for it, and the clock that layouts with one insist on."""

from __future__ import annotations

from keybench.errors import UsageError
from keybench.generators.core.process import Process
from keybench.model.keys import Ints


def worker_id(layout: str, process: Process, count: int) -> int:
    """`Process.index`; UsageError where it is not below `count`."""
    if not 0 <= process.index < count:
        raise UsageError(
            f"{layout} has room for worker ids 0 to {count - 1}, and this is writer {process.index} "
            f"of {process.of}: use fewer writers, or a layout with more bits for them."
        )
    return process.index


def refuse_steps_back(layout: str, quanta: Ints, last: int, unit: str) -> int:
    """The last reading; UsageError where one lies below the one before, which upstream refuses to make a key for."""
    before = last
    if len(quanta):
        falls = quanta[1:] < quanta[:-1]
        if quanta[0] < last:
            raise _stepped_back(layout, int(last - quanta[0]), unit)
        if falls.any():
            at = int(falls.argmax())
            raise _stepped_back(layout, int(quanta[at] - quanta[at + 1]), unit)
        before = int(quanta[-1])
    return before


def _stepped_back(layout: str, by: int, unit: str) -> UsageError:
    return UsageError(
        f"the clock went back by {by} {unit}, and {layout} makes no key until it has caught up, as upstream: "
        "use a clock that does not step back."
    )
