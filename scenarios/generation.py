"""Scenarios that only make keys, without a database."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Literal

from pydantic import Field

from keybench.scenarios.parts import Part

EntropyKind = Literal["aes", "os", "plain"]
"""AES in counter mode, the operating system's random bytes, or a plain pseudo-random generator."""

_ENTROPY_TITLES: dict[EntropyKind, str] = {"aes": "AES", "os": "operating system", "plain": "plain PRNG"}


@dataclass(frozen=True)
class Way:
    """How the keys of a trial without a database are made."""

    entropy: EntropyKind
    threads: int

    @property
    def title(self) -> str:
        """Its name in results and reports."""
        return f"{_ENTROPY_TITLES[self.entropy]}, {self.threads} thread{'s' if self.threads > 1 else ''}"


class GenerationPart(Part):
    """Trials without a database: threads make `rows` keys, in one trial for each number of threads and entropy."""

    threads: Annotated[tuple[Annotated[int, Field(ge=1, le=64)], ...], Field(min_length=1)] = (1,)
    entropy: Annotated[tuple[EntropyKind, ...], Field(min_length=1)] = ("aes",)

    @property
    def ways(self) -> list[Way]:
        """Every combination of entropy and number of threads."""
        return [Way(kind, threads) for kind in self.entropy for threads in self.threads]
