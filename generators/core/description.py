"""What every layout says about itself: which bits hold what, which instants fit, how keys ascend, who may share it.

`show`, `list`, `decode`, single use and the tests of all layouts read nothing else.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from types import MappingProxyType
from typing import Final, Literal

import numpy as np
from numpy.typing import NDArray

Ascent = Literal["always", "forward", "by time", "by block", "no"]
"""How keys ascend in the layout's order, each compared with the ones before.

always    each above all before, even when the clock steps back
forward   each above all before while the clock does not step back
by time   those of a later quantum (`Timestamp.resolution`) above those of an earlier; inside one in no order
by block  as by time, but quanta are numbers of keys
no        in no order
"""

Uniqueness = Literal["random", "process", "machine", "worker id", "plan"]
"""What keeps keys apart when several threads and processes make them. Threads of a process share one stream, locked.

random     enough random bits in each key: nothing to agree on
process    something of the process is in each key (random bytes, or machine and process id)
machine    something of the machine is in each key, nothing of the process: one process a machine
worker id  a number that somebody must hand out, `Process.index`, below `Description.worker_ids`
plan       numbers from the plan of a run; nobody but a runner can hand them out
"""

STANDARD: Final[Mapping[str, str]] = MappingProxyType(
    {"R": "random, new for each key", "V": "version", "X": "variant of RFC 9562"}
)
"""Letters whose meaning a layout's legend may leave out."""

_FIELD: Final = re.compile(r"([A-Za-z])([1-9]\d*)(?::([0-9a-f]+))?")


@dataclass(frozen=True)
class Part:
    """Neighbouring bits (characters, in layouts of kind text) of one meaning; `value` where they are fixed."""

    letter: str
    width: int
    start: int
    value: int | None = None


@dataclass(frozen=True)
class Timestamp:
    """The time in a key. `first` and `last` are the ticks between which a key tells its reading.

    `resolution` is how far, in ticks, what is read back may lie from the reading; keys whose readings lie two of them
    apart ascend. Outside of first … last a reading is `refused` (UsageError, naming the range), or the key holds
    `another instant`, as the original's does. `readable` is false where `decode` gives no instant.
    `period` is after how many ticks the field starts again, where keys ascend across less than all of first … last.
    """

    unit: str
    first: int
    last: int
    resolution: int
    outside: Literal["refused", "another instant"] = "refused"
    readable: bool = True
    period: int | None = None


@dataclass(frozen=True)
class Description:
    """The facts of one layout.

    `diagram` names the bits from the first of the text (RFC order) to the last, or an integer's from the sign bit on:
    a letter, a number of bits, and a colon and the hexadecimal value where it is fixed: `T48 V4:7 R12 X2:2 R62`.
    Layouts of kind text count characters instead of bits. `legend` explains the letters that `STANDARD` does not.
    Letters in `random` are drawn anew for each key; all others depend on clock, process or the keys before.
    `within` is how the keys of one stream ascend, `across` those of several processes with one clock.
    `counts_from_clock` names the decoded field, if any, that started at the clock's ticks without being a key's time.
    """

    diagram: str
    legend: Mapping[str, str] = field(default_factory=dict, hash=False)
    within: Ascent = field(default="no", kw_only=True)
    across: Ascent = field(default="no", kw_only=True)
    uniqueness: Uniqueness = field(default="random", kw_only=True)
    time: Timestamp | None = field(default=None, kw_only=True)
    random: str = field(default="R", kw_only=True)
    worker_ids: int | None = field(default=None, kw_only=True)
    counts_from_clock: str = field(default="", kw_only=True)
    caveats: tuple[str, ...] = field(default=(), kw_only=True)

    def __post_init__(self) -> None:
        letters = {part.letter for part in self.parts}
        unexplained = letters - set(STANDARD) - set(self.legend)
        if unexplained or set(self.legend) - letters:
            raise ValueError(f"the diagram {self.diagram!r} and the legend of {sorted(self.legend)} do not match")
        if (self.uniqueness == "worker id") != (self.worker_ids is not None):
            raise ValueError("worker_ids is how many worker ids there are, for layouts that need one")

    @cached_property
    def parts(self) -> tuple[Part, ...]:
        """The diagram's parts, in order; ValueError for one that cannot be read."""
        parts: list[Part] = []
        start = 0
        for text in self.diagram.split():
            match = _FIELD.fullmatch(text)
            if match is None:
                raise ValueError(f"{text!r} in {self.diagram!r} is no letter and number of bits, such as T48 or V4:7")
            value = None if match[3] is None else int(match[3], 16)
            if (value or 0) >> int(match[2]):
                raise ValueError(f"{text!r} in {self.diagram!r}: the value needs more than {match[2]} bits")
            parts.append(Part(match[1], int(match[2]), start, value))
            start += parts[-1].width
        return tuple(parts)

    @property
    def width(self) -> int:
        """Bits (characters, in layouts of kind text) of a key."""
        return sum(part.width for part in self.parts)

    @property
    def random_width(self) -> int:
        """How many of them are drawn anew for each key."""
        return sum(part.width for part in self.parts if part.letter in self.random)

    @cached_property
    def meanings(self) -> Mapping[str, str]:
        """What each letter of the diagram means, in the diagram's order."""
        known = {**STANDARD, **self.legend}
        return {part.letter: known[part.letter] for part in self.parts}

    def where(self, letters: str) -> NDArray[np.bool_]:
        """Which bits (characters) carry one of these letters: bool (width,)."""
        return np.repeat([part.letter in letters for part in self.parts], [part.width for part in self.parts])

    def fixed(self) -> tuple[NDArray[np.bool_], NDArray[np.uint8]]:
        """Which bits are the same in every key, and all bits of a key where they are: bool and uint8 (width,)."""
        mask, bits = np.zeros(self.width, np.bool_), np.zeros(self.width, np.uint8)
        for part in self.parts:
            if part.value is not None:
                mask[part.start : part.start + part.width] = True
                digits = f"{part.value:0{part.width}b}"
                bits[part.start : part.start + part.width] = [int(digit) for digit in digits]
        return mask, bits
