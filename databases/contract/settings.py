"""What users choose about a server or its tables: profile, cache, container, and settings by name.

This module imports neither a driver nor numpy.
"""

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from keybench.errors import UsageError, shortened

CHECKPOINT = "checkpoint"  # the name of the setting that `checkpoint` makes
_UNITS = {"": 1, "b": 1, "k": 1 << 10, "m": 1 << 20}  # bytes of each unit in which `size_of` reads a size


@dataclass(frozen=True)
class Setting:
    """A setting on which an engine's pages or their cost depend. A value is text, spelled in one way (`read`)."""

    name: str
    meaning: str
    """What it is, in one phrase."""
    default: str
    """Its value on servers, or in tables, that keybench makes."""
    of: Literal["server", "table"]
    """A server has one value for all tables: keybench changes none on a user's own server."""
    values: tuple[str, ...] = ()
    """Its values; if empty, whole numbers of `numbers`."""
    numbers: range = range(0)

    @property
    def choices(self) -> str:
        """Its values, for messages."""
        if not self.values:
            return f"a whole number from {self.numbers[0]} to {self.numbers[-1]}"
        return f"one of {', '.join(self.values)}"

    def read(self, text: str, database: str) -> str:
        """The value that a user's text means, in its one spelling: `8K` for `8k` and `8192`. UsageError if it is none
        of the setting's values; `database` is for this message."""
        value = text.strip()
        is_number = value.isascii() and value.isdecimal() and len(value) < 10  # int() would also take `1_0` and `+1`
        if not self.values and is_number and int(value) in self.numbers:
            return str(int(value))
        for known in self.values:
            if value.lower() == known.lower() or (size_of(known) and size_of(value) == size_of(known)):
                return known
        raise UsageError(f"{self.name} of {database} is {self.choices}, not {shortened(value)}.")


def checkpoint(meaning: str, default: str, least: int) -> Setting:
    """The setting of how much log lies between two checkpoints. Its values: powers of two from `least` to 16,384 MB."""
    values = tuple(f"{1 << power}M" for power in range(15) if 1 << power >= least)
    return Setting(CHECKPOINT, f"{meaning}: log between two checkpoints", default, "server", values)


def size_of(text: str) -> int:
    """Bytes that a text like `8K` or `8192` stands for; 0 for any other text."""
    digits = text.rstrip("bBkKmM")
    unit = _UNITS.get(text[len(digits) :].lower(), 0)  # 0: `KB` is no unit
    is_number = digits.isascii() and digits.isdecimal() and len(digits) < 10
    return int(digits) * unit if is_number else 0


def spelled(size: int) -> str:
    """A size in bytes as `read` spells it: 8192 is 8K, 512 is 512."""
    return f"{size >> 10}K" if size % 1024 == 0 else str(size)


Profile = Literal["durable", "fast"]
CacheSize = Literal["default", "small"]


@dataclass(frozen=True)
class ContainerOptions:
    """The user's choices about a container. All databases have the same limits, so that results are comparable."""

    image: str = ""
    """Name and tag; if empty, the engine chooses."""
    memory_bytes: int = 4 << 30
    cpus: float = 2.0
    """The maximum; a machine with fewer processors gives all it has."""


EngineOptions = Mapping[str, str]
"""The value of each option, by name."""


def option_values(
    engine: str, title: str, declared: Sequence[Setting], parameters: Mapping[str, str]
) -> dict[str, str]:
    """The value of each declared option: that in `parameters`, else in KEYBENCH_<ENGINE>_<NAME>, else the default.

    `parameters` are a URL's query or an address's; other names in them are ignored. Empty variables count as unset.
    UsageError for a value that is none of the option's.
    """
    values = {}
    for option in declared:
        variable = f"KEYBENCH_{engine}_{option.name}".upper()
        text = parameters.get(option.name) or os.environ.get(variable) or option.default
        values[option.name] = option.read(text, title)
    return values
