"""The commands that measure what claims ask for."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

from keybench.model.names import CONTROL, MODEL_SERVER, NO_DATABASE
from keybench.results.analysis.p_values import ENOUGH_BLOCKS
from keybench.results.claims.claim import ClaimQuestion


@dataclass(frozen=True)
class _Work:
    """A run, as its command line describes it."""

    databases: tuple[str, ...]
    server: str
    """The one that computes the answer; empty if a real server gives it."""
    scenario: str
    rows: int | None
    writers: int | None
    columns: tuple[str, ...]
    layouts: tuple[str, ...]
    """Without the control, which always takes part."""
    blocks: int

    def line(self) -> str:
        words = ["--db", ",".join(self.databases)] if self.databases else []
        words += ["--server", self.server] if self.server else []
        words += ["--scenario", self.scenario]
        for option, value in (("--rows", self.rows), ("--writers", self.writers)):
            words += [option, str(value)] if value is not None else []
        words += ["--column", ",".join(self.columns)] if self.columns else []
        words += ["--blocks", str(self.blocks), "--layout", ",".join(self.layouts or (CONTROL,))]
        return " ".join(["keybench run", *words])

    def answers(self, other: _Work) -> bool:
        """Whether this run has all trials of the other."""
        return (
            (self.server, self.scenario, self.rows, self.writers)
            == (other.server, other.scenario, other.rows, other.writers)
            and set(other.databases) <= set(self.databases)
            and set(other.layouts) <= set(self.layouts)
            and (not other.layouts or self.columns == other.columns)
            and other.blocks <= self.blocks
        )


_ANY = ("any",)
"""In place of the columns of works that one command measures in all of their columns."""


def command(question: ClaimQuestion) -> str:
    """The command that answers a question; empty if arithmetic answers it."""
    return _work(question).line() if question.scenario else ""


def commands(questions: Iterable[ClaimQuestion]) -> list[str]:
    """A short list of commands that together answer all of these questions."""
    together: dict[_Work, _Work] = {}
    for work in (_work(question) for question in questions if question.scenario):
        # A page model takes seconds, so that layouts may be measured in columns that only other questions ask for.
        frame = replace(work, layouts=(), blocks=0, columns=_ANY if work.server and work.columns else work.columns)
        known = together.get(frame, replace(frame, columns=()))
        together[frame] = replace(
            work,
            layouts=tuple(dict.fromkeys((*known.layouts, *work.layouts))),
            columns=tuple(sorted({*known.columns, *work.columns})),
            blocks=max(known.blocks, work.blocks),
        )
    works = list(together.values())
    kept = [work for work in works if not any(other is not work and other.answers(work) for other in works)]
    return sorted(work.line() for work in kept)


def _work(question: ClaimQuestion) -> _Work:
    alone = NO_DATABASE in question.databases
    sides = [side for side in question.sides if side.layout != CONTROL]
    return _Work(
        databases=() if alone else question.on or question.databases,
        server=MODEL_SERVER if question.modellable else "",
        scenario=question.scenario,
        rows=question.rows,
        writers=question.writers,
        columns=() if alone else tuple(sorted({side.column for side in sides if side.column})),
        layouts=tuple(dict.fromkeys(side.layout for side in sides)),
        blocks=1 if question.exact else ENOUGH_BLOCKS,
    )
