"""The finding of a whole page: of one database, or what several databases have in common."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from statistics import median
from typing import Final

from keybench.model.names import CONTROL
from keybench.results.analysis.group_comparison import Judgement
from keybench.results.analysis.groups import Group
from keybench.results.analysis.verdict import Verdict
from keybench.results.report.answer.headline import pages, quoted, times
from keybench.results.wording import count_word, listed, number

_MOST_PLACES: Final = 3
_CHEAP: Final[frozenset[Verdict]] = frozenset({"same", "faster"})


@dataclass(frozen=True)
class Answer:
    """One group's finding: its sentence, the product that it is about, and what decided it."""

    group: Group
    judgement: Judgement | None
    product: str
    """`PostgreSQL 18.4`."""
    sentence: str


def finding(answers: Sequence[Answer]) -> str:
    """One sentence: the only answer, or what the answers on several databases have in common."""
    if not answers:
        return "No trial is recorded yet."
    indexed = [one for one in answers if one.group.about == "index" and any(arm.good for arm in one.group.arms)]
    if len(indexed) < 2:
        return (indexed or answers)[0].sentence
    decided = [one for one in indexed if one.judgement is not None and one.judgement.enough]
    if len(decided) > 1:
        return _by_time(decided)
    return decided[0].sentence if decided else _by_pages(indexed)


def leading(answers: Sequence[Answer]) -> int:
    """The place of the answer to show first: with decided times, else with an index, else any."""
    judged = [i for i, one in enumerate(answers) if one.judgement is not None and one.judgement.enough]
    timed = [i for i, one in enumerate(answers) if one.judgement is not None]
    indexed = [i for i, one in enumerate(answers) if one.group.about == "index"]
    return next(iter([*judged, *timed, *indexed, 0]))


def _by_time(decided: Sequence[Answer]) -> str:
    verdicts: dict[str, list[Verdict]] = {}
    ratios: dict[str, list[float]] = {}
    for one in decided:
        for judged in one.judgement.treatments if one.judgement else ():
            verdicts.setdefault(judged.arm.layout, []).append(judged.verdict)
            ratios.setdefault(judged.arm.layout, []).append(judged.ratio.median)
    everywhere = {name: own for name, own in verdicts.items() if len(own) == len(decided)}
    cheap = [name for name, own in everywhere.items() if set(own) <= _CHEAP]
    dear = [name for name, own in everywhere.items() if set(own) == {"slower"}]
    clauses = []
    if cheap:
        named = sorted(cheap, key=lambda name: median(ratios[name]))
        clauses.append(f"{quoted(named)} {'costs' if len(cheap) == 1 else 'cost'} no more than `{CONTROL}`")
    if dear:
        worst = max(dear, key=lambda name: median(ratios[name]))
        of = f" of `{CONTROL}`" if not cheap else ""
        clauses.append(f"`{worst}` takes {_between(ratios[worst])} the time{of}")
    if not cheap:
        clauses.append("which layout costs least depends on the database, or is not decided")
    return f"On {_places(decided)}, {'; '.join(clauses)}."


def _by_pages(indexed: Sequence[Answer]) -> str:
    shares: Mapping[str, list[float]] = _by_layout(indexed, lambda one: one.group)
    whole = {name: own for name, own in shares.items() if len(own) == len(indexed)}
    modelled = all(one.group.modelled for one in indexed)
    where = f"{'By the page models of' if modelled else 'On'} {_places(indexed)}"
    undecided = "" if modelled else "; which layout is faster is not decided"
    if not whole:
        return f"{where}, no layout was measured beside `{CONTROL}` everywhere{undecided}."
    worst = max(whole, key=lambda name: median(whole[name]))
    low, high = (round(100 * (pick(whole[worst]) - 1)) for pick in (min, max))
    if high <= 0:
        return f"{where}, no layout needs more pages than `{CONTROL}`{undecided}."
    share = f"{high}\u00a0%" if low == high else f"{low} to {high}\u00a0%".replace("-", "−")
    return f"{where}, `{worst}` needs {share} more pages than `{CONTROL}`{undecided}."


def _by_layout(answers: Sequence[Answer], of: Callable[[Answer], Group]) -> dict[str, list[float]]:
    """The ratios of leaf pages of each layout, one for each answer that has it."""
    shares: dict[str, list[float]] = {}
    for one in answers:
        group = of(one)
        for arm in group.treatments:
            if (share := pages(group, arm)) is not None:
                shares.setdefault(arm.layout, []).append(share)
    return shares


def _between(values: Sequence[float]) -> str:
    low, high = min(values), max(values)
    return times(high) if f"{low:.2f}" == f"{high:.2f}" else f"{number(low, 2)} to {times(high)}"


def _places(answers: Sequence[Answer]) -> str:
    products = list(dict.fromkeys(one.product for one in answers))
    if len(products) > _MOST_PLACES:
        return f"all {count_word(len(products))} databases"
    return listed(products, _MOST_PLACES)
