"""The answers of runs to all claims: one row for each question and each database that answers it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from math import isfinite

from keybench.model.names import NO_DATABASE
from keybench.results.analysis.arms import Arm
from keybench.results.claims.cells import Cell, cells
from keybench.results.claims.claim import Claim, Question, claims
from keybench.results.claims.claim_verdict import judge
from keybench.results.claims.estimate import Answer, NoAnswer, estimate, shown, unit
from keybench.results.claims.row import ClaimRow, Verdict
from keybench.results.claims.run_commands import command
from keybench.results.claims.wording import phrase
from keybench.results.store.database import Store

DURABLE = "durable"
"""The profile that claims are about: every commit on disk."""

_NO_TRIAL = "No trial of these runs answers it."


def rows(store: Store, run_ids: Sequence[str]) -> list[ClaimRow]:
    """What these runs (ids, unique prefixes, `latest`) say about every claim, in the order of the claims.

    If several runs, servers or sizes answer for one database, the answer is chosen by these rules, in this order:
    measured before modelled, the question's own scenario, the question's number of rows, more rows, more blocks, the
    later run. Raises UsageError for an unknown run.
    """
    runs = {run.id: run for run in (store.run(name) for name in run_ids)}
    all_cells = [
        cell
        for run in sorted(runs.values(), key=lambda run: run.started)
        for cell in cells(run, store.trials(run.id), store.environments(run.id))
    ]
    return answers(all_cells)


def answers(all_cells: Sequence[Cell]) -> list[ClaimRow]:
    """What these cells say about every claim."""
    return [row for claim in claims() for row in answer_claim(claim, all_cells)]


def answer_claim(claim: Claim, all_cells: Sequence[Cell]) -> list[ClaimRow]:
    """The claim's rows: one for each question and database, or a single row that says why there are none."""
    if claim.reason:
        return [replace(_blank(claim), verdict="not testable", reason=claim.reason)]
    return [row for question in claim.question for row in _answer_question(claim, question, all_cells)]


def _answer_question(claim: Claim, question: Question, all_cells: Sequence[Cell]) -> list[ClaimRow]:
    blank = _asked(_blank(claim), question)
    if question.compare == "computed":
        assert question.ours is not None
        exact = Answer(question.ours, question.ours, question.ours, 0, True, "computed")
        verdict, reason = judge(question, exact)
        return [_answered(blank, exact, question.result, verdict, f"{reason} {question.how}".strip())]
    answered, problems = [], []
    for database in question.databases:
        asked = [cell for cell in all_cells if cell.database == database and _can_answer(cell, question)]
        tried = [(cell, estimate(cell, question)) for cell in asked]
        good = [(cell, answer) for cell, answer in tried if isinstance(answer, Answer)]
        problems += [f"{_place(cell)}: {answer.reason}" for cell, answer in tried if isinstance(answer, NoAnswer)]
        if good:
            cell, answer = max(enumerate(good), key=lambda item: (_rank(question, *item[1]), item[0]))[1]
            answered.append(_row(blank, question, cell, answer))
    if answered:
        return answered
    return [replace(blank, reason=" ".join(dict.fromkeys(problems)) or _NO_TRIAL)]


def _can_answer(cell: Cell, question: Question) -> bool:
    return cell.fits(question) and not (cell.modelled and not question.modellable)


def _rank(question: Question, cell: Cell, answer: Answer) -> tuple[bool, bool, bool, int, int]:
    own = cell.scenario == question.scenario
    return not cell.modelled, own, cell.rows == question.rows, cell.rows, answer.blocks


def _row(blank: ClaimRow, question: Question, cell: Cell, answer: Answer) -> ClaimRow:
    verdict, reason = judge(question, answer)
    # Variants of a page model contain a rule that no live server has confirmed.
    variants = {model for arm in _arms(cell, question) for model in arm.predicted if model.name}
    for variant in sorted(variants) if cell.modelled else ():
        other = estimate(cell, question, variant)
        if isinstance(other, Answer) and judge(question, other)[0] != verdict:
            value = shown(other.value, blank.unit)
            rule = "a rule of the page model that no live server has confirmed"
            reason = f"It depends on {rule}: with {variant.name} it gives {value}."
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


def _answered(row: ClaimRow, answer: Answer, ours: str, verdict: Verdict, reason: str) -> ClaimRow:
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
