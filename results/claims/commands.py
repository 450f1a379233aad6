"""The commands that measure what a claim asks for."""

from __future__ import annotations

from collections.abc import Iterable

from keybench.results import statistics
from keybench.results.claims.claim import Claim, Question
from keybench.results.claims.estimate import ALPHA
from keybench.results.report.groups import CONTROL, NO_DATABASE

_Frame = tuple[str, ...]


def command(question: Question) -> str:
    """The command that answers a question; empty where arithmetic does."""
    return _written(_frame(question), _layouts(question)) if question.scenario else ""


def commands(claims: Iterable[Claim], missing: Iterable[str]) -> list[str]:
    """As few commands as answer every question of those claims, by id."""
    wanted = set(missing)
    frames: dict[_Frame, list[str]] = {}
    for claim in claims:
        for question in claim.question if claim.id in wanted else ():
            if question.scenario:
                known = frames.setdefault(_frame(question), [])
                known += [name for name in _layouts(question) if name not in known]
    return [_written(frame, layouts) for frame, layouts in sorted(frames.items())]


def _layouts(question: Question) -> list[str]:
    """All that have to be named: the control always takes part."""
    names = [side.layout for side in question.sides if side.layout != CONTROL]
    return list(dict.fromkeys(names)) or [CONTROL]


def _frame(question: Question) -> _Frame:
    """The options before and after the layouts."""
    where = [] if NO_DATABASE in question.databases else ["--db", ",".join(question.on or question.databases)]
    if question.modellable:
        where += ["--server", "model"]
    where += ["--scenario", question.scenario]
    for option, value in (("--rows", question.rows), ("--writers", question.writers)):
        where += [option, str(value)] if value is not None else []
    columns = {side.column for side in question.sides if side.column} if where[0] == "--db" else ()
    where += ["--column", ",".join(sorted(columns))] if columns else []
    blocks = 1 if question.exact else statistics.blocks_needed(ALPHA)
    return (*where, "--blocks", str(blocks))


def _written(frame: _Frame, layouts: list[str]) -> str:
    return " ".join(["python -m runners.run", *frame, "--layout", ",".join(layouts)])
