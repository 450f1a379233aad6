"""What a layout declares: the meaning of each bit, the instants that fit, how keys ascend, what makes them unique.

`list`, `decode`, `generators.new` and the tests of all layouts use nothing else.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from types import MappingProxyType
from typing import Any, Final, Literal

import numpy as np
from numpy.typing import NDArray

from keybench.model.keys import Ints

Ascent = Literal["always", "forward", "by time", "by block", "no"]
"""How keys ascend in the layout's order, each compared with those before.

always    each is above all before, even when the clock steps back
forward   each is above all before while the clock does not step back
by time   keys of a later time quantum (`Timestamp.resolution`) are above earlier ones; inside a quantum no order
by block  as by time, with blocks of keys in place of time quanta
no        no order
"""

Uniqueness = Literal["random", "process", "machine", "worker id", "plan"]
"""What makes keys unique when several processes make them. Threads of a process share one locked stream.

random     enough random bits in each key: nothing to agree on
process    each key holds something of the process (random bytes, or machine and process id)
machine    each key holds something of the machine, nothing of the process: one process a machine
worker id  a number below `Description.worker_ids` that somebody must assign, `Process.index`
plan       numbers from the plan of a run; only a runner can assign them
"""

STANDARD: Final[Mapping[str, str]] = MappingProxyType(
    {"R": "random, new for each key", "V": "version", "X": "variant of RFC 9562"}
)
"""Letters that a layout's legend need not explain."""

COUNTED: Final = 10**12
"""What integers that count from 1 plausibly come to (`Description.counts_to`)."""

_FIELD: Final = re.compile(r"([A-Za-z])([1-9]\d*)(?::([0-9a-f]+))?")


@dataclass(frozen=True)
class Part:
    """Consecutive bits (characters, in layouts of kind text) with one meaning; `value` where they are fixed."""

    letter: str
    width: int
    start: int
    value: int | None = None


@dataclass(frozen=True)
class Timestamp:
    """The time in a key. From the tick `first` to `last`, the key holds the clock's reading.

    `resolution` is in ticks: the instant read back is at most that far from the reading, and keys whose readings are
    twice as far apart ascend. Outside of first … last a reading is `refused` (UsageError, naming the range), or the key
    holds `another instant`, as the original's key does. `readable` is false if `decode` gives no instant. `period` is
    the number of ticks after which the field starts again, if it does so within first … last. `span` is the number of
    ticks that all values of the field cover, where these are more than first … last: `decode` refuses the other values,
    or reads other instants from them. Where a unit of the field has values that are refused, they count as its others.
    """

    unit: str
    first: int
    last: int
    resolution: int
    outside: Literal["refused", "another instant"] = "refused"
    readable: bool = True
    period: int | None = None
    span: int | None = None

    @property
    def covered(self) -> int:
        """The number of ticks that all values of the field cover."""
        return self.span or self.last - self.first + 1


@dataclass(frozen=True)
class Description:
    """What one layout declares.

    `diagram` lists the bits in RFC order, the order of the text, or those of an integer from the sign bit on. Each part
    is a letter and a number of bits, then a colon and the hexadecimal value if it is fixed: `T48 V4:7 R12 X2:2 R62`.
    Layouts of kind text count characters instead of bits. `legend` explains the letters that `STANDARD` does not.
    Parts with letters in `random` are drawn for each key; all others depend on the clock, the process or earlier keys.
    Parts with letters in `steady` are the same in all keys of the one server that a stream stands for.
    Parts with letters in `process` are the same in all keys of a process, and decide in which columns these ascend.
    Parts with letters in `counter` are bits of a counter that goes up by one a key, whatever the clock shows; after its
    last value it starts again with 0.
    `within`: how the keys of one stream ascend; `across`: those of several processes with one clock.
    `counts_from_clock` names a decoded field that started at the clock's ticks but is no key's time, if there is one.
    Integers that count from 1 plausibly come to `counts_to`.
    `reads` names the numbers that `decode` gives, and for each the letters of its parts, the highest bits first:
    `{"time": "T", "counter": "C"}`. The time counts `time.resolution` ticks each from `time.first` on.
    `read_diagram` lists the bits that `decode` reads (`WriterLayout.bits_read`), where they are not those of `diagram`.
    `read_version` is what version and variant have to be for `decode`, such as `UUIDv7`; empty if it looks at neither.
    In layouts of kind text, `alphabets` has the characters that each letter's part holds; `any_case` texts are read in
    upper case and in lower case, and have their upper-case characters there.
    """

    diagram: str
    legend: Mapping[str, str] = field(default_factory=dict, hash=False)
    within: Ascent = field(default="no", kw_only=True)
    across: Ascent = field(default="no", kw_only=True)
    uniqueness: Uniqueness = field(default="random", kw_only=True)
    time: Timestamp | None = field(default=None, kw_only=True)
    random: str = field(default="R", kw_only=True)
    steady: str = field(default="", kw_only=True)
    process: str = field(default="", kw_only=True)
    counter: str = field(default="", kw_only=True)
    worker_ids: int | None = field(default=None, kw_only=True)
    counts_from_clock: str = field(default="", kw_only=True)
    counts_to: int = field(default=0, kw_only=True)
    alphabets: Mapping[str, str] = field(default_factory=dict, hash=False, kw_only=True)
    any_case: bool = field(default=False, kw_only=True)
    reads: Mapping[str, str] = field(default_factory=dict, hash=False, kw_only=True)
    read_diagram: str = field(default="", kw_only=True)
    read_version: str = field(default="", kw_only=True)
    caveats: tuple[str, ...] = field(default=(), kw_only=True)

    def __post_init__(self) -> None:
        letters = {part.letter for part in self.parts}
        unexplained = letters - set(STANDARD) - set(self.legend)
        if unexplained or set(self.legend) - letters:
            raise ValueError(f"the diagram {self.diagram!r} and the legend of {sorted(self.legend)} do not match")
        if (self.uniqueness == "worker id") != (self.worker_ids is not None):
            raise ValueError("worker_ids, the number of worker ids, belongs to uniqueness by worker id, and only to it")
        if set(self.alphabets) - letters:
            raise ValueError(f"the diagram {self.diagram!r} and the alphabets of {sorted(self.alphabets)} do not match")

    @cached_property
    def parts(self) -> tuple[Part, ...]:
        """The diagram's parts, in order; ValueError for a part that cannot be read."""
        return _parts(self.diagram)

    @cached_property
    def read_parts(self) -> tuple[Part, ...]:
        """The parts of the bits that `decode` reads."""
        return _parts(self.read_diagram or self.diagram)

    @property
    def width(self) -> int:
        """Bits (characters, in layouts of kind text) of a key."""
        return sum(part.width for part in self.parts)

    @property
    def random_width(self) -> int:
        """Bits (characters) that are drawn for each key."""
        return sum(part.width for part in self.parts if part.letter in self.random)

    @cached_property
    def meanings(self) -> Mapping[str, str]:
        """What each letter of the diagram means, in the diagram's order."""
        explained = {**STANDARD, **self.legend}
        return {part.letter: explained[part.letter] for part in self.parts}

    @property
    def structureless(self) -> bool:
        """Whether keys hold nothing but random and fixed bits."""
        return all(part.value is not None or part.letter in self.random for part in self.parts)

    def ticks(self, numbers: Ints) -> Ints:
        """The ticks that numbers in the time's field stand for; AssertionError for a layout without a time."""
        assert self.time is not None
        return numbers * self.time.resolution + self.time.first

    def where(self, letters: str) -> NDArray[np.bool_]:
        """Which bits (characters) lie in parts with one of these letters: bool (width,)."""
        return np.repeat([part.letter in letters for part in self.parts], [part.width for part in self.parts])

    def fixed(self) -> tuple[NDArray[np.bool_], NDArray[np.uint8]]:
        """(which bits are the same in every key: bool (width,), their values, 0 for other bits: uint8 (width,))."""
        mask, bits = np.zeros(self.width, np.bool_), np.zeros(self.width, np.uint8)
        for part in self.parts:
            if part.value is not None:
                mask[part.start : part.start + part.width] = True
                digits = f"{part.value:0{part.width}b}"
                bits[part.start : part.start + part.width] = [int(digit) for digit in digits]
        return mask, bits


def timed(
    diagram: str, legend: Mapping[str, str], time: Timestamp, *caveats: str, within: Ascent = "by time", **others: Any
) -> Description:
    """The description of a layout with a time, by which the keys of several processes ascend. `within`: how those of
    one process ascend; `others`: more fields of `Description`."""
    return Description(diagram, legend, within=within, across="by time", time=time, caveats=caveats, **others)


def _parts(diagram: str) -> tuple[Part, ...]:
    """The parts of a diagram such as `T48 V4:7`; ValueError for one that cannot be read."""
    parts: list[Part] = []
    start = 0
    for text in diagram.split():
        match = _FIELD.fullmatch(text)
        if match is None:
            raise ValueError(f"{text!r} in {diagram!r} is no letter and number of bits, such as T48 or V4:7")
        letter, width, digits = match.groups()  # digits: None if the part is not fixed
        value = None if digits is None else int(digits, 16)
        if (value or 0) >> int(width):  # something is left beyond the part's bits
            raise ValueError(f"{text!r} in {diagram!r}: the value needs more than {width} bits")
        parts.append(Part(letter, int(width), start, value))
        start += parts[-1].width
    return tuple(parts)
