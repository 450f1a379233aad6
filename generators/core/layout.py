"""What a key layout is, and the registry of all of them.

A family of layouts is a module or folder with a `LAYOUTS` sequence. The registry finds it by the entry points of the
group `keybench.layouts`: they name the package `generators`, and modules of other distributions.
"""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import ClassVar, Final, Literal, Protocol

import numpy as np
from numpy.typing import NDArray

from keybench.errors import UsageError, shortened, unknown_name
from keybench.generators.core.clock import Clock
from keybench.generators.core.description import Description
from keybench.generators.core.entropy import Entropy
from keybench.generators.core.process import Process
from keybench.model import byteorder
from keybench.model.byteorder import FixedBits
from keybench.model.column import Column
from keybench.model.keys import Bytes, Ints, Keys, Kind, Order
from keybench.plugins import discover


@dataclass(frozen=True)
class Decoded:
    """What keys hold: `ticks` (int64, 100 ns since 0001-01-01 UTC) and the layout's other fields, n values each."""

    ticks: Ints | None = None
    fields: Mapping[str, NDArray[np.generic]] = field(default_factory=dict)


class KeysRefused(UsageError):
    """The layout's reader refuses these keys: bool (n,) says which. The message is about the first of them."""

    def __init__(self, message: str, refused: NDArray[np.bool_]) -> None:
        super().__init__(message)
        self.refused = refused

    def __reduce__(self) -> tuple[type[KeysRefused], tuple[str, NDArray[np.bool_]]]:
        return type(self), (str(self), self.refused)


class NothingToRead(UsageError):
    """These can be keys of the layout, but its keys hold nothing that can be read back."""


def require_form(layout: str, keys: Keys, kind: Kind, width: int) -> None:
    """UsageError for keys of another kind or width; `width` counts bytes or characters and is not checked for int."""
    units = {"text": "characters", "int": "integers"}.get(kind, "bytes")
    if keys.kind != kind:
        form = units if kind == "int" else f"{width} {units}"
        raise UsageError(f"these are {keys.kind} keys, and {layout} keys are {form}: name the layout that made them.")
    if kind != "int" and keys.data.shape[1] != width:
        raise UsageError(
            f"these keys have {keys.data.shape[1]} {units}, and {layout} keys have {width}: "
            "name the layout that made them."
        )


class GuidProvider(Protocol):
    """The replaceable source of base GUIDs that some originals have (RT.Comb's GuidProvider)."""

    def take(self, n: int) -> Bytes:
        """The next n GUIDs: uint8 (n, 16) in RFC order."""
        ...


class Stream(ABC):
    """One writer's source of keys of one layout. It can be pickled; `take(n)` equals n times `take(1)`."""

    @abstractmethod
    def take(self, n: int) -> Keys:
        """The next n keys, in the order in which the writer makes them."""


@dataclass(frozen=True)
class Layout(ABC):
    """How the bits of a key are composed. `order` is the byte order in which the layout ascends, and `reads_clock` says
    when its streams read the clock. Instances are immutable and can be pickled: all state is in the stream."""

    reads_clock: ClassVar[Literal["each key", "at construction", "never"]] = "each key"
    one_counter: ClassVar[bool] = False
    """Whether a server makes the keys of all writers, in order of arrival: then one stream serves all writers."""

    name: str
    summary: str
    source: str
    order: Order = "rfc"
    kind: Kind = "uuid"
    aliases: tuple[str, ...] = ()
    description: Description = field(kw_only=True)

    @property
    def key_bytes(self) -> int:
        """Bytes of a key, or characters where keys are text."""
        return self.description.width if self.kind == "text" else self.description.width // 8

    def shared_bits(self) -> FixedBits:
        """Which bits all keys share, by which a column is chosen; by default the fixed bits of the description."""
        return self.description.fixed()

    def suits(self, column: Column) -> bool:
        """Whether the column can hold all keys of the layout, and they ascend in it as in the layout's own order. False
        for layouts without an order. Keys that are not GUIDs ascend in all columns of their kind."""
        if self.order == "none" or self.kind not in column.kinds:
            return False
        bits = self.shared_bits()
        if not column.accepts_all(bits):
            return False
        if self.kind != "uuid":
            return True
        random = self.description.where(self.description.random)
        steady = self.description.where(self.description.steady)
        return byteorder.ascend_alike(self.order, column.order, bits, random, steady)

    @abstractmethod
    def stream(self, process: Process, clock: Clock, entropy: Entropy, *, guids: GuidProvider | None = None) -> Stream:
        """A new stream for one writer; `guids` replaces the source of base GUIDs."""

    def decode(self, keys: Keys) -> Decoded:
        """Reads what the original's reader reads or, where there is none, what the byte map holds. Raises NothingToRead
        if the keys hold nothing that can be read."""
        raise NothingToRead(
            f"{self.name} keys hold no time and no counter: nothing in these {len(keys)} can be decoded."
        )


class Sharded(ABC):
    """A layout whose keys hold the shard that their rows belong to."""

    @abstractmethod
    def shards(self, keys: Keys) -> Ints:
        """The shard in each key: int64 (n,)."""

    @abstractmethod
    def with_shards(self, keys: Keys, shards: Ints) -> Keys:
        """The keys with these shards, int64 (n,), in place of theirs; UsageError for a number that does not fit."""


@cache
def layouts() -> Mapping[str, Layout]:
    """Every layout by name and alias, in the order of discovery. UsageError for two layouts with one name."""
    by_name: dict[str, Layout] = {}
    for module, family in discover("keybench.layouts", "LAYOUTS"):
        if not isinstance(family, Sequence):
            raise UsageError(f"{module}.LAYOUTS must be a sequence of Layout instances.")
        for layout in family:
            if not isinstance(layout, Layout):
                raise UsageError(f"{module}.LAYOUTS holds {layout!r}, which is not a Layout.")
            required = {"uuid": 128, "int": 64}.get(layout.kind, layout.description.width)  # others: any
            if layout.description.width != required:
                raise UsageError(
                    f"{module}: the diagram of {layout.name} has {layout.description.width} bits: make it {required}."
                )
            for name in (layout.name, *layout.aliases):
                if name in by_name and by_name[name] != layout:
                    raise UsageError(f"two layouts are called {name!r}; the second is in {module}: rename one.")
                by_name[name] = layout
    return by_name


def layout(name: str) -> Layout:
    """The layout with this name or alias, or that of a file's keys for `file:PATH`. UsageError with close matches if
    there is none."""
    if name.startswith(FILE):
        return _layout_of_file(name)
    try:
        return layouts()[name]
    except KeyError:
        raise unknown_name("layout", name, {each.name for each in layouts().values()}) from None


FILE: Final = "file:"
"""What the name of a layout begins with whose keys are those of a file."""


@dataclass(frozen=True)
class KeysOfFile(Layout):
    """The keys of a file: row n of the plan has the key of line n."""

    reads_clock = "never"
    keys: Keys = field(kw_only=True, compare=False, repr=False)

    def shared_bits(self) -> FixedBits:
        """The bits that all keys have in common."""
        if self.kind not in ("uuid", "int"):
            return super().shared_bits()
        data: Bytes = self.keys.data.astype(">i8" if self.kind == "int" else "u1").view(np.uint8)  # first byte first
        bits = np.unpackbits(data.reshape(len(self.keys), -1), axis=1)
        return (bits == bits[0]).all(axis=0), bits[0]  # where all keys have the bits of the first

    def stream(self, process: Process, clock: Clock, entropy: Entropy, *, guids: GuidProvider | None = None) -> Stream:  # noqa: ARG002
        """The keys of the rows that the process writes."""
        return _FileStream(self.keys, process)


class _FileStream(Stream):
    """The keys of a file for the rows that one writer sends."""

    def __init__(self, keys: Keys, process: Process) -> None:
        self._keys, self._process, self._taken = keys, process, 0

    def take(self, n: int) -> Keys:
        """The keys of the next n rows; UsageError where the file has no more."""
        numbers = self._process.row_numbers(self._taken, n)  # from 1, as the lines of the file
        if n and (last := int(numbers.max())) > len(self._keys):
            raise UsageError(
                f"the file has {len(self._keys):,} keys, and row {last:,} needs one too: give fewer --rows."
            )
        self._taken += n
        return self._keys[numbers - 1]


@cache
def _layout_of_file(name: str) -> KeysOfFile:
    """The layout of a file's keys, read once in each process. UsageError for a file that cannot be one."""
    keys = keys_of_file(name.removeprefix(FILE))
    # Descriptions count the characters of text, and the bits of all other keys.
    width = 64 if keys.kind == "int" else keys.data.shape[1] * (1 if keys.kind == "text" else 8)
    described = Description(f"K{width}", {"K": "as in the file"})
    return KeysOfFile(
        name, "keys of a file, in its order", "a file", order="none", kind=keys.kind, keys=keys, description=described
    )


_FORMS: Final[tuple[tuple[Kind, re.Pattern[str]], ...]] = (
    ("int", re.compile(r"-?[0-9]{1,19}")),
    ("uuid", re.compile(r"[0-9a-f]{8}(?:-?[0-9a-f]{4}){3}-?[0-9a-f]{12}", re.IGNORECASE)),
    ("bytes", re.compile(r"(?:[0-9a-f]{2}){4,}", re.IGNORECASE)),
    ("text", re.compile(r"[!-~]{1,255}")),
)
"""What a line of each kind looks like. All lines have the first of these forms that line 1 has."""
_WORDS: Final = {"int": "an integer", "uuid": "a UUID", "bytes": "bytes in hexadecimal", "text": "text in ASCII"}


@cache
def keys_of_file(path: str) -> Keys:
    """The keys in a file, one a line, in the order in which their rows arrive. UsageError, with the number of the line,
    for an empty line, a key of another form or width than the first, an integer of more than 64 bits, and a key that an
    earlier line has."""
    try:
        lines = Path(path).read_text(encoding="utf-8").splitlines()
    except (OSError, ValueError) as error:  # ValueError: no text
        raise UsageError(f"--keys {path} cannot be read ({error}): give a file of text with one key a line.") from None
    if not lines:
        raise UsageError(f"--keys {path} is empty: give a file with one key a line.")
    # If line 1 has none of the forms, the loop refuses it as text.
    kind, form = next(((kind, form) for kind, form in _FORMS if form.fullmatch(lines[0])), _FORMS[-1])
    one_width = kind in ("bytes", "text")  # UUIDs may have hyphens, integers any number of digits
    for number, line in enumerate(lines, start=1):
        if not line:
            raise _line_error(path, number, "is empty: leave the line out")
        if not form.fullmatch(line):
            raise _line_error(path, number, f"{shortened(line)} is not {_WORDS[kind]}, as keys of this file are")
        if one_width and len(line) != len(lines[0]):
            raise _line_error(path, number, f"has {len(line)} characters, and line 1 has {len(lines[0])}")
        if kind == "int" and not -(1 << 63) <= int(line) < 1 << 63:
            raise _line_error(path, number, f"{line} has more than 64 bits")
    keys = _keys(lines, kind)
    _refuse_repeats(path, keys)
    return keys


def _refuse_repeats(path: str, keys: Keys) -> None:
    """UsageError for a key that an earlier line has, with the number of the line."""
    _, first, key_numbers = np.unique(keys.data, axis=0, return_index=True, return_inverse=True)
    first_line = first[key_numbers.ravel()]  # of each key: the line, from 0, that has it first
    if (repeats := np.flatnonzero(first_line != np.arange(len(keys)))).size:
        line = int(repeats[0])
        raise _line_error(path, line + 1, f"repeats the key of line {first_line[line] + 1}")


def _keys(lines: list[str], kind: Kind) -> Keys:
    """The keys in lines, each a key of that kind and in the form of the first."""
    if kind == "int":
        return Keys(np.array([int(line) for line in lines], np.int64), kind)
    whole = "".join(lines)
    data = whole.encode("ascii") if kind == "text" else bytes.fromhex(whole.replace("-", ""))
    return Keys(np.frombuffer(data, np.uint8).reshape(len(lines), -1), kind)


def _line_error(path: str, number: int, why: str) -> UsageError:
    return UsageError(f"--keys {path}, line {number}: {why}.")
