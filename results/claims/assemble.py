"""All claims against some runs: one row for each question and each database that answers it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from math import isfinite

from keybench.model.names import NO_DATABASE
from keybench.results.analysis.arms import Arm
from keybench.results.claims.cells import Cell, cells
from keybench.results.claims.claim import Claim, Question, claims
from keybench.results.claims.commands import command
from keybench.results.claims.estimate import Found, Missing, estimate, shown, unit
from keybench.results.claims.judge import judge
from keybench.results.claims.row import ClaimRow, Verdict
from keybench.results.claims.wording import phrase
from keybench.results.store.database import Store

DURABLE = "durable"
"""The profile that claims are taken to speak of: every commit on disk."""

_NO_TRIAL = "No trial of these runs answers it."


def rows(store: Store, run_ids: Sequence[str]) -> list[ClaimRow]:
    """What these runs (ids, unique prefixes, `latest`) say of every claim, in the order of the claims.

    Of several runs, servers or sizes that answer for one database, a measured one is taken before a modelled one, then
    the one of the question's own scenario, with the rows of the question, with most rows, with most blocks, the last.
    Raises UsageError where a run is unknown.
    """
    runs = {run.id: run for run in (store.run(name) for name in run_ids)}
    found = [
        cell
        for run in sorted(runs.values(), key=lambda run: run.started)
        for cell in cells(run, store.trials(run.id), store.environments(run.id))
    ]
    return answers(found)


def answers(found: Sequence[Cell]) -> list[ClaimRow]:
    """What these cells say of every claim."""
    return [row for claim in claims() for row in of_claim(claim, found)]


def of_claim(claim: Claim, found: Sequence[Cell]) -> list[ClaimRow]:
    """The claim's rows: by question and database, or one that says why there is nothing."""
    if claim.reason:
        return [replace(_blank(claim), verdict="not testable", reason=claim.reason)]
    return [row for question in claim.question for row in _of_question(claim, question, found)]


def _of_question(claim: Claim, question: Question, found: Sequence[Cell]) -> list[ClaimRow]:
    blank = _asked(_blank(claim), question)
    if question.compare == "computed":
        assert question.ours is not None
        exact = Found(question.ours, question.ours, question.ours, 0, True, "computed")
        verdict, reason = judge(question, exact)
        return [_answered(blank, exact, question.told, verdict, f"{reason} {question.how}".strip())]
    answers, problems = [], []
    for database in question.databases:
        asked = [cell for cell in found if cell.database == database and _asks(cell, question)]
        tried = [(cell, estimate(cell, question)) for cell in asked]
        good = [(cell, answer) for cell, answer in tried if isinstance(answer, Found)]
        problems += [f"{_place(cell)}: {answer.reason}" for cell, answer in tried if isinstance(answer, Missing)]
        if good:
            cell, answer = max(enumerate(good), key=lambda item: (_rank(question, *item[1]), item[0]))[1]
            answers.append(_row(blank, question, cell, answer))
    if answers:
        return answers
    return [replace(blank, reason=" ".join(dict.fromkeys(problems)) or _NO_TRIAL)]


def _asks(cell: Cell, question: Question) -> bool:
    return cell.fits(question) and not (cell.modelled and not question.modellable)


def _rank(question: Question, cell: Cell, answer: Found) -> tuple[bool, bool, bool, int, int]:
    own = cell.scenario == question.scenario
    return not cell.modelled, own, cell.rows == question.rows, cell.rows, answer.blocks


def _row(blank: ClaimRow, question: Question, cell: Cell, answer: Found) -> ClaimRow:
    verdict, reason = judge(question, answer)
    # Variants of a page model have a rule that no live server has confirmed.
    variants = {model for arm in _arms(cell, question) for model in arm.predicted if model.name}
    for variant in sorted(variants) if cell.modelled else ():
        other = estimate(cell, question, variant)
        if isinstance(other, Found) and judge(question, other)[0] != verdict:
            told = shown(other.value, blank.unit)
            reason = f"It depends on what no live server has told the page model: with {variant.name} it gives {told}."
            verdict = "undecided"
            break
    place = replace(
        blank,
        question=phrase(question, cell.scenario),
        database=cell.database,
        server=cell.server,
        rows=cell.rows,
        run=cell.run.id,
    )
    if cell.run.profile != DURABLE and not cell.modelled:
        place = replace(place, differs=f"{place.differs} Measured with --profile {cell.run.profile}.")
    return _answered(place, answer, answer.text(blank.unit), verdict, reason)


def _arms(cell: Cell, question: Question) -> list[Arm]:
    return [arm for side in question.sides if (arm := cell.arm(side))]


def _answered(row: ClaimRow, answer: Found, ours: str, verdict: Verdict, reason: str) -> ClaimRow:
    return replace(
        row,
        estimate=answer.value,
        low=answer.low,
        high=answer.high,
        ours=ours,
        blocks=answer.blocks,
        origin=answer.origin,
        verdict=verdict,
        reason=reason,
    )


def _place(cell: Cell) -> str:
    where = cell.scenario if cell.database == NO_DATABASE else f"{cell.scenario} on {cell.database}"
    return f"{where} ({'page model' if cell.modelled else f'run {cell.run.id}'})"


def _blank(claim: Claim) -> ClaimRow:
    source = claim.source
    return ClaimRow(
        claim=claim.id,
        source=f"{source.author}{f' {source.year}' if source.year else ''}, {source.where}",
        statement=claim.statement,
        published="",
        published_low=None,
        published_high=None,
        unit="",
        no_effect=None,
        question="",
        database="",
        server="",
        rows=0,
        run="",
        estimate=None,
        low=None,
        high=None,
        ours="",
        blocks=0,
        origin="",
        verdict="not measured",
        reason="",
        differs=" ".join(text for text in (source.differs, claim.differs) if text),
        command="",
    )


def _asked(row: ClaimRow, question: Question) -> ClaimRow:
    low, high = question.region
    return replace(
        row,
        published=question.published,
        published_low=low if isfinite(low) else None,
        published_high=high if isfinite(high) else None,
        unit=unit(question),
        no_effect=question.no_effect,
        question=phrase(question),
        command=command(question),
    )
