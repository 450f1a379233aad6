"""What a key layout is, and the registry of all of them.

A family of layouts is one module with a `LAYOUTS` sequence; the registry finds it by the entry points of the group
`keybench.layouts`, which name this package and any other distribution's module.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import ClassVar, Literal, Protocol

import numpy as np
from numpy.typing import NDArray

from keybench.errors import UsageError, unknown_name
from keybench.generators.core.clock import Clock
from keybench.generators.core.description import Description
from keybench.generators.core.entropy import Entropy
from keybench.generators.core.process import Process
from keybench.model.keys import Bytes, Ints, Keys, Kind, Order
from keybench.plugins import discover

Composer = Callable[[int, int], int]
"""Makes one GUID, as a number, of a reading in nanoseconds since 1970 and of 128 random bits."""


@dataclass(frozen=True)
class Decoded:
    """What can be read back from keys: `ticks` (int64, 100 ns since 0001-01-01 UTC) and the layout's other fields,
    each an array of n values."""

    ticks: Ints | None = None
    fields: Mapping[str, NDArray[np.generic]] = field(default_factory=dict)


class NothingToRead(UsageError):
    """These can be keys of the layout, but its keys hold nothing that can be read back."""


def require_form(layout: str, keys: Keys, kind: Kind, width: int) -> None:
    """UsageError for keys of another kind or width; `width` counts bytes or characters and is not checked for int."""
    if keys.kind != kind or (kind != "int" and keys.data.shape[1] != width):
        units = {"text": "characters", "int": "integers"}.get(kind, "bytes")
        wanted = units if kind == "int" else f"{width} {units}"
        raise UsageError(
            f"these are {keys.kind} keys, and {layout} keys are {wanted}: name the layout that made them."
            if keys.kind != kind
            else f"these keys have {keys.data.shape[1]} {units}, and {layout} keys have {width}: "
            "name the layout that made them."
        )


class GuidProvider(Protocol):
    """The replaceable source of base GUIDs that some originals have (RT.Comb's GuidProvider)."""

    def take(self, n: int) -> Bytes:
        """The next n GUIDs: uint8 (n, 16) in RFC order."""
        ...


class NameProvider(Protocol):
    """The names that name-based layouts (RFC 9562 §5.3, §5.5) hash, one a key."""

    def take(self, n: int) -> Sequence[bytes]:
        """The next n names."""
        ...


class Stream(ABC):
    """One writer's source of keys of one layout. Picklable; `take(n)` equals n times `take(1)`."""

    @abstractmethod
    def take(self, n: int) -> Keys:
        """The next n keys, in the order in which the writer makes them."""


@dataclass(frozen=True)
class Layout(ABC):
    """How the bits of a key are composed.

    `order` is the byte order in which the layout ascends; `reads_clock` says when its streams read the clock;
    `description` is what `show`, `list`, `decode` and the tests of all layouts go by.
    Instances are immutable and picklable: all state is in the stream.
    """

    reads_clock: ClassVar[Literal["each key", "at construction", "never"]] = "each key"
    one_counter: ClassVar[bool] = False
    """Whether one server makes the keys of all writers, in order of arrival, so that one stream stands for all."""

    name: str
    summary: str
    source: str
    order: Order
    kind: Kind = "uuid"
    aliases: tuple[str, ...] = ()
    description: Description = field(kw_only=True)

    @property
    def key_bytes(self) -> int:
        """Bytes of a key, or characters where keys are text."""
        return self.description.width if self.kind == "text" else self.description.width // 8

    @abstractmethod
    def stream(
        self,
        process: Process,
        clock: Clock,
        entropy: Entropy,
        *,
        guids: GuidProvider | None = None,
        names: NameProvider | None = None,
    ) -> Stream:
        """A new stream for one writer; `guids` and `names` replace the sources of base GUIDs and names."""

    def composer(self) -> Composer | None:
        """For GUIDs of which nothing but one reading and random bits decides: how to make one without arrays.

        The 128 bits are the first 16 bytes of entropy that a stream takes for the key, most significant byte first.
        None where there is more to it, or where nobody needs single keys faster than a stream makes them.
        """
        return None

    def decode(self, keys: Keys) -> Decoded:
        """Reads back what the original can read back, or what the byte map holds.

        Raises NothingToRead where the layout holds nothing that can be read.
        """
        raise NothingToRead(
            f"{self.name} keys hold no time and no counter: nothing in these {len(keys)} can be decoded."
        )


@cache
def layouts() -> Mapping[str, Layout]:
    """Every layout by name, in the order of discovery. Two layouts of one name are an error."""
    found: dict[str, Layout] = {}
    for module, family in discover("keybench.layouts", "LAYOUTS"):
        if not isinstance(family, Sequence):
            raise UsageError(f"{module}.LAYOUTS must be a sequence of Layout instances.")
        for layout in family:
            if not isinstance(layout, Layout):
                raise UsageError(f"{module}.LAYOUTS holds {layout!r}, which is no Layout.")
            width = {"uuid": 128, "int": 64}.get(layout.kind, layout.description.width)
            if layout.description.width != width:
                raise UsageError(
                    f"{module}: the diagram of {layout.name} has {layout.description.width} bits: make it {width}."
                )
            for name in (layout.name, *layout.aliases):
                if name in found and found[name] != layout:
                    raise UsageError(f"two layouts are called {name!r}; the second is in {module}: rename one.")
                found[name] = layout
    return found


def layout(name: str) -> Layout:
    """The layout called `name`, or one of whose aliases it is; UsageError with close matches otherwise."""
    try:
        return layouts()[name]
    except KeyError:
        raise unknown_name("layout", name, {known.name for known in layouts().values()}) from None
