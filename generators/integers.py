"""Integers in planned order: the control that every other layout is compared with.

The client sends the row's number, from 1, in the planned order of all writers. A server that numbers rows itself is
another layout, because it numbers them in the order in which they arrive.
"""

from __future__ import annotations

from keybench.generators.core.description import Description
from keybench.generators.core.layout import Stream
from keybench.generators.core.process import Process
from keybench.generators.core.stream import Writer, WriterLayout
from keybench.model.keys import Keys


class PlannedNumbers(Stream):
    """One writer's row numbers, from its first row on."""

    def __init__(self, process: Process) -> None:
        self._process = process
        self._position = 0

    def take(self, n: int) -> Keys:
        """The numbers of the next n rows; ValueError where the plan gives this writer fewer."""
        numbers = self._process.row_numbers(self._position, n)
        self._position += n
        return Keys(numbers, "int")


class Identity(WriterLayout):
    """64-bit integers 1, 2, 3 … over all writers."""

    reads_clock = "never"

    def start(self, writer: Writer) -> Stream:
        """A stream of the writer's row numbers."""
        return PlannedNumbers(writer.process)


LAYOUTS = (
    Identity(
        "bigint-identity",
        "64-bit row number in planned order over all writers: the control",
        "keybench",
        order="rfc",
        kind="int",
        description=Description(
            "N64",
            {"N": "row number"},
            within="always",
            across="always",
            uniqueness="plan",
            caveats=("stands for what a server's identity or sequence does; the client sends it",),
        ),
    ),
)
