"""The answers of runs to all claims, one row for each question and database that answers it; as text."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from math import isfinite
from textwrap import TextWrapper
from typing import Literal, get_args

from keybench.model.names import NO_DATABASE
from keybench.results.analysis.groups import Group
from keybench.results.analysis.p_values import ENOUGH_BLOCKS
from keybench.results.claims.claim import ARITHMETIC, Claim, ClaimQuestion, claims
from keybench.results.claims.estimate import ClaimAnswer, answer_of, can_answer, groups_to_ask, shown
from keybench.results.store.database import Store
from keybench.results.wording import plural

Verdict = Literal["reproduced", "not reproduced", "contradicted", "undecided", "not measured", "not testable"]
"""`contradicted`: the effect goes the other way, and the interval excludes "no effect". `undecided`: the interval
contains both the published figure and "no effect", or there are too few blocks for an interval."""

VERDICTS: tuple[Verdict, ...] = get_args(Verdict)

DURABLE = "durable"
"""The profile that claims are about: every commit on disk."""

_NO_TRIAL = "No trial of these runs answers it."
_MORE_BLOCKS = "more blocks make it narrower"


@dataclass(frozen=True)
class ClaimRow:
    """One figure of one claim on one database, or a claim without a figure: plain strings and numbers.

    Numbers are in `unit`. `estimate`, `low` and `high` are None if nothing was measured. `published_low` and
    `published_high` bound what counts as the published figure: a bound is None if that side is open, and both are None
    if the claim has no figure here. Texts are empty if there is nothing to say.
    """

    claim: str
    """The claim's id; several rows may share it."""
    source: str
    """Author, year and place."""
    statement: str
    """What is claimed, in keybench's words."""
    published: str = ""
    """The figure as published."""
    published_low: float | None = None
    published_high: float | None = None
    unit: str = ""
    """`×` for ratios, else the metric's unit."""
    no_effect: float | None = None
    """The value that means no effect: 1 for ratios, 0 for differences, None for plain values."""
    question: str = ""
    """What is compared here, with layouts, columns and metric, as a phrase."""
    database: str = ""
    """The engine's name; `none` for trials without a database; empty if nothing was measured."""
    server: str = ""
    """The kind of server, `model` for a page model."""
    rows: int = 0
    """Rows of the trials that answered."""
    run: str = ""
    """The run's id."""
    estimate: float | None = None
    low: float | None = None
    high: float | None = None
    ours: str = ""
    """Estimate, interval and blocks as text."""
    blocks: int = 0
    """Blocks that the interval rests on."""
    origin: str = ""
    """`measured`, `derived`, `modelled`, `computed` (arithmetic alone), or empty."""
    verdict: Verdict = "not measured"
    reason: str = ""
    """The reason for the verdict, why the claim is not testable, or what is missing."""
    differs: str = ""
    """What is different from the published setup."""
    command: str = ""
    """The command that measures it; empty if none does."""

    @property
    def modelled(self) -> bool:
        """Whether a page model stands in for a server."""
        return self.origin == "modelled"


def _row(
    claim: Claim, verdict: Verdict, reason: str, *, question: ClaimQuestion | None = None, group: Group | None = None,
    answer: ClaimAnswer | None = None,
) -> ClaimRow:  # fmt: skip
    """The row of a claim: with `group`, of what its trials say; with an answer and no group, of arithmetic."""
    source = claim.source
    author = f"{source.author} {source.year}" if source.year else source.author
    differs = [source.differs, claim.differs]
    row = ClaimRow(claim.id, f"{author}, {source.where}", claim.statement, verdict=verdict, reason=reason)
    if question:
        low, high = question.published_range
        row = replace(
            row,
            published=question.published,
            published_low=low if isfinite(low) else None,
            published_high=high if isfinite(high) else None,
            unit=question.unit,
            no_effect=question.no_effect,
            question=question.phrase(group.scenario if group else ""),
            command=question.command,
        )
    if question and answer:
        row = replace(
            row,
            estimate=answer.value,
            low=answer.low,
            high=answer.high,
            ours=answer.text(question.unit) if group else question.result,
            blocks=answer.blocks,
            origin=answer.origin,
        )
    if group:
        row = replace(row, database=group.database, server=group.server, rows=group.rows, run=group.run.id)
        if group.run.profile != DURABLE and not group.modelled:
            differs.append(f"Measured with --profile {group.run.profile}.")
    return replace(row, differs=" ".join(filter(None, differs)))


def rows(store: Store, run_ids: Sequence[str]) -> list[ClaimRow]:
    """What these runs (ids, unique prefixes, `latest`) say about every claim, in the order of the claims.

    If several runs, servers or sizes answer for one database, the answer is chosen by these rules, in this order:
    measured before modelled, the question's own scenario, the question's number of rows, more rows, more blocks, the
    later run. Raises UsageError for an unknown run.
    """
    runs = {run.id: run for run in (store.run(name) for name in run_ids)}
    return answers(
        [
            group
            for run in sorted(runs.values(), key=lambda run: run.started)
            for group in groups_to_ask(run, store.trials(run.id), store.environments(run.id))
        ]
    )


def answers(groups: Sequence[Group]) -> list[ClaimRow]:
    """What these trials say about every claim; a claim without any answer has a row that says why."""
    rows = []
    for claim in claims():
        if claim.reason:
            rows.append(_row(claim, "not testable", claim.reason))
        for question in claim.question:
            rows += _answer_question(claim, question, groups)
    return rows


def _answer_question(claim: Claim, question: ClaimQuestion, groups: Sequence[Group]) -> list[ClaimRow]:
    """A row for each database that answers the question; if none does, one that says why."""
    if (value := question.ours) is not None:  # arithmetic
        exact = ClaimAnswer(value, low=value, high=value, blocks=0, enough=True, origin="computed")
        verdict, reason = judge(question, exact)
        return [_row(claim, verdict, f"{reason} {question.how}".strip(), question=question, answer=exact)]
    answered, problems = [], []
    for database in question.databases:
        candidates = [group for group in groups if group.database == database and can_answer(group, question)]
        results = [(group, answer_of(group, question)) for group in candidates]
        good = [(group, answer) for group, answer in results if isinstance(answer, ClaimAnswer)]
        problems += [f"{_place(group)}: {answer}" for group, answer in results if isinstance(answer, str)]
        if good:
            # Of several that are equally good, the last one: runs are in order of time.
            group, answer = max(reversed(good), key=lambda one: _rank(question, *one))
            verdict, reason = judge(question, answer)
            answered.append(_row(claim, verdict, reason, question=question, group=group, answer=answer))
    if answered:
        return answered
    why = " ".join(dict.fromkeys(problems)) or _NO_TRIAL
    return [_row(claim, "not measured", why, question=question)]


def _rank(question: ClaimQuestion, group: Group, answer: ClaimAnswer) -> tuple[bool, bool, bool, int, int]:
    """How well a group's answer suits the question, by the rules of `rows`: the greatest is the best."""
    as_asked = group.scenario == question.scenario
    return not group.modelled, as_asked, group.rows == question.rows, group.rows, answer.blocks


def _place(group: Group) -> str:
    """The trials in a few words: scenario, database and run."""
    where = group.scenario if group.database == NO_DATABASE else f"{group.scenario} on {group.database}"
    return f"{where} ({'page model' if group.modelled else f'run {group.run.id}'})"


def judge(question: ClaimQuestion, answer: ClaimAnswer) -> tuple[Verdict, str]:
    """The verdict, and the reason as a sentence; the reason is empty if the figures need no comment.

    An effect is reproduced if the interval overlaps the published figure and excludes "no effect". It is contradicted
    if the whole interval shows the opposite effect. If no difference was published, a difference beyond the margin
    contradicts it. A plain figure (a density, or a ratio near 1) has no opposite: it is reproduced if the whole
    interval lies within the margin. Figures that repeat exactly are judged by their median over blocks.
    """
    low, high = question.published_range
    no_effect = question.no_effect
    if not answer.enough:
        return "undecided", f"Too few blocks for an interval: use --blocks {ENOUGH_BLOCKS}."
    least, most = (answer.value, answer.value) if question.exact else (answer.low, answer.high)  # of ours
    if question.same:
        margin = f"{shown(low, question.unit)} to {shown(high, question.unit)}"
        if low <= least and most <= high:
            return "reproduced", f"It lies within {margin}."
        if least > high or most < low:
            return "contradicted", f"There is a difference: it lies beyond {margin}."
        return "undecided", f"The interval lies partly beyond {margin}: {_MORE_BLOCKS}."
    if no_effect is None or low < no_effect < high:  # a plain figure
        if least > high or most < low:
            return "not reproduced", f"It lies {'above' if least > high else 'below'} what was published."
        if low <= least and most <= high:
            return "reproduced", ""
        return "undecided", f"The interval contains both the published figure and others: {_MORE_BLOCKS}."
    negligible = question.negligible
    if low >= no_effect:
        return _effect((low, high), (least, most), no_effect, negligible)
    # A published decrease: with all signs turned, it is judged as an increase.
    return _effect((-high, -low), (-most, -least), -no_effect, (-negligible[1], -negligible[0]))


Span = tuple[float, float]
"""Lowest and highest value."""


def _effect(published: Span, ours: Span, no_effect: float, negligible: Span) -> tuple[Verdict, str]:
    """The verdict on a published increase, from its range, our interval, and the values that are no effect (`no_effect`
    exactly, `negligible` for practical purposes)."""
    (low, high), (least, most) = published, ours  # an increase: `low` is not below `no_effect`
    if most < negligible[0]:
        return "contradicted", "The effect goes the other way."
    if least > high:
        return "not reproduced", "The effect is larger than published."
    if most < low:
        if most <= negligible[1]:
            return "not reproduced", "There is no effect, or hardly any."
        if least <= no_effect:
            return "not reproduced", "The effect is smaller than published, if there is any."
        return "not reproduced", "The effect goes the same way but is smaller than published."
    if least > no_effect:
        return "reproduced", ""
    return "undecided", f"The interval contains both the published figure and no effect: {_MORE_BLOCKS}."


_WIDTH = 100
_INDENT = 19
"""Characters of a line, and in front of the text of an answer."""
_UNTESTED = ("not measured", "not testable")


def as_text(rows: Sequence[ClaimRow], *, everything: bool) -> str:
    """The rows as text with a final newline; without `everything`, only rows that have an answer."""
    rest = [row for row in rows if row.verdict in _UNTESTED]
    parts = [_listing(rows if everything else with_answer(rows)), _counts(rows)]
    if rest and not everything:
        parts.append(f"--all lists the other {len(rest)} too, with the reasons and the commands that measure them.\n")
    return "\n".join(part for part in parts if part)


def with_answer(rows: Sequence[ClaimRow]) -> list[ClaimRow]:
    """The rows that have an answer."""
    return [row for row in rows if row.verdict not in _UNTESTED]


def _listing(rows: Sequence[ClaimRow]) -> str:
    """Each claim with its questions, and under each question its answers."""
    lines: list[str] = []
    for _, rows_of_claim in groupby(rows, key=lambda row: row.claim):
        of_claim = list(rows_of_claim)
        first = of_claim[0]
        lines += ["", *_wrapped(f"{first.claim}: {first.statement}", 0)]
        lines += _wrapped(f"{first.source}. {first.differs}", 2)
        for (published, question), rows_of_question in groupby(of_claim, key=lambda row: (row.published, row.question)):
            if question:
                asked = f"{published} ({question})" if question != ARITHMETIC else published
                lines += _wrapped(f"published: {asked}", 2, 4)
            for row in rows_of_question:
                lines += _answer(row)
    return "\n".join(lines[1:]) + "\n" if lines else ""  # [0] is empty: before the first claim


def _answer(row: ClaimRow) -> list[str]:
    """The lines of one answer under its question: verdict, figures and reason; the command if nothing was measured."""
    figures = f"{row.ours}{_where(row)}." if row.ours else ""
    text = " ".join(filter(None, (figures, row.reason)))
    lines = _wrapped(f"{row.verdict.upper():<14} {text}", 4, _INDENT)  # the longest verdict has 14 characters
    return [*lines, f"{'':<{_INDENT}}{row.command}"] if row.verdict == "not measured" else lines


def _wrapped(text: str, first: int, following: int | None = None) -> list[str]:
    """Lines of up to `_WIDTH` characters, of whole words; `first` and `following`: how many spaces they begin with."""
    indents = " " * first, " " * (first if following is None else following)
    wrapper = TextWrapper(_WIDTH, initial_indent=indents[0], subsequent_indent=indents[1])
    wrapper.break_on_hyphens = wrapper.break_long_words = False
    return wrapper.wrap(text)


def _where(row: ClaimRow) -> str:
    """Where it was measured and how, in a few words."""
    if not row.database:
        return ""
    if row.database == NO_DATABASE:
        return f", {row.rows:,} keys"
    server = "page model" if row.modelled else f"{row.server}, {row.origin}"
    return f" on {row.database} ({server}, {row.rows:,} rows)"


def _counts(rows: Sequence[ClaimRow]) -> str:
    """How many rows have each verdict, as a line."""
    counts = Counter(row.verdict for row in rows)
    verdicts = ", ".join(f"{counts[verdict]} {verdict}" for verdict in VERDICTS if counts[verdict])
    return f"{plural(len(rows), 'answer')} to {plural(len({row.claim for row in rows}), 'claim')}: {verdicts}.\n"
