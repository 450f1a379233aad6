"""Integers given to writers in blocks: cached sequences and hi/lo.

A writer fetches a block of numbers and uses all of them before it fetches the next block: `SEQUENCE … CACHE n` of
Oracle (a block an instance) and PostgreSQL (a block a session), hi/lo of EF Core, NHibernate and Hibernate. So n
writers insert at n places of the index, each ascending, and the places are at most the blocks in use apart.

bigint-cached   blocks of 20, Oracle's default     bigint-hilo   blocks of 10, EF Core's default

Which block a writer gets depends on when the others fetch theirs; a client cannot know this in advance. Here writers
take blocks in turns, as if all were equally fast: the block b of writer i of n has the number b · n + i, and a block
holds block · size + 1 … block · size + size. SQL Server has one identity cache for the whole server, with gaps only
after a restart: `bigint-identity` stands for it.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from keybench.errors import UsageError
from keybench.generators.core.description import COUNTED, Description
from keybench.generators.core.stream import ChunkLayout, Writer
from keybench.model.keys import Ints


@dataclass(frozen=True, kw_only=True)
class Blocked(ChunkLayout):
    """64-bit integers, `size` in a writer's block."""

    reads_clock = "never"

    size: int

    def __post_init__(self) -> None:
        if self.size < 1:
            raise UsageError(f"{self.name} with blocks of {self.size}: a block holds 1 number or more.")

    def chunk(self, n: int, writer: Writer) -> Ints:
        """The next n numbers."""
        blocks, places = np.divmod(np.arange(writer.rows, writer.rows + n, dtype=np.int64), self.size)
        writer.rows += n
        return (blocks * writer.process.of + writer.process.index) * self.size + places + 1


def _description(*caveats: str) -> Description:
    return Description(
        "N64",
        {"N": "number from the writer's block"},
        within="always",
        across="by block",
        uniqueness="plan",
        counts_to=COUNTED,
        caveats=("each writer inserts at its own place of the index, a few blocks apart", *caveats),
    )


LAYOUTS = (
    Blocked(
        "bigint-cached",
        "64-bit integers, 20 at a time for each writer, as from a sequence with CACHE 20",
        "Oracle and PostgreSQL documentation, CREATE SEQUENCE … CACHE",
        order="rfc",
        kind="int",
        size=20,
        description=_description("Oracle: a block for each instance; PostgreSQL: for each session, CACHE 1 by default"),
    ),
    Blocked(
        "bigint-hilo",
        "64-bit integers, 10 at a time for each writer, as from hi/lo",
        "EF Core documentation, HiLo; NHibernate, hilo",
        order="rfc",
        kind="int",
        size=10,
        description=_description("NHibernate's default block is far larger: 32,768"),
    ),
)
