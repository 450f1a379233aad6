"""Scenarios that only make keys, without a database."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Literal

from pydantic import Field

from keybench.scenarios.parts import Part

EntropyKind = Literal["aes", "os", "plain"]
"""AES in counter mode, the operating system's random bytes, or a plain pseudo-random generator."""

Calls = Literal["batch", "single"]
"""10,000 keys a call, or one key a call, in compiled code."""

_ENTROPY_TITLES: dict[EntropyKind, str] = {"aes": "AES", "os": "operating system", "plain": "plain PRNG"}


@dataclass(frozen=True)
class Way:
    """How the keys of a trial without a database are made."""

    entropy: EntropyKind
    threads: int
    calls: Calls = "batch"

    @property
    def title(self) -> str:
        """Its name in results and reports."""
        each = ", one key a call" if self.calls == "single" else ""
        return f"{_ENTROPY_TITLES[self.entropy]}, {self.threads} thread{'s' if self.threads > 1 else ''}{each}"


class GenerationPart(Part):
    """Trials without a database: threads make `rows` keys, in one trial for each number of threads and entropy."""

    threads: Annotated[tuple[Annotated[int, Field(ge=1, le=64)], ...], Field(min_length=1)] = (1,)
    entropy: Annotated[tuple[EntropyKind, ...], Field(min_length=1)] = ("aes",)
    calls: Annotated[tuple[Calls, ...], Field(min_length=1)] = ("batch",)

    @property
    def ways(self) -> list[Way]:
        """Every combination of entropy and number of threads; one key a call is measured with one thread alone."""
        batches = [Way(kind, threads) for kind in self.entropy for threads in self.threads if "batch" in self.calls]
        return batches + [Way(kind, 1, "single") for kind in self.entropy if "single" in self.calls]
