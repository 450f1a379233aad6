"""The finding in one sentence, of a database and of a whole page; and what was run.

All of it is computed from the data. Layouts are written in backquotes in the findings, which the page shows as code.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from keybench.model.metric import Metric
from keybench.model.names import CONTROL, RANDOM
from keybench.results.analysis.arms import Arm
from keybench.results.analysis.group_comparison import ComparedArm, Judgement
from keybench.results.analysis.groups import Group
from keybench.results.analysis.p_values import ENOUGH_BLOCKS
from keybench.results.report.what_people_use import RandomBesideBest, lag_clauses, more_pages, random_beside_best, times
from keybench.results.store.records import Run
from keybench.results.wording import count_word, listed, number, plural

_MOST: Final = 3
"""Layouts that a sentence names; the others are counted."""


def headline(group: Group, judgement: Judgement | None, subject: str) -> str:
    """The finding on one group; `subject` begins the sentence: "On PostgreSQL 18.4"."""
    if group.only_keys:
        return _keys(group, subject)
    if not any(arm.good for arm in group.arms):
        return f"{subject}, no trial gave a value."
    if not (clauses := lag_clauses(group)):
        beside = random_beside_best(group)
        on_random = [f"random UUIDs {beside.clause}"] if beside else []
        if judgement is not None and judgement.enough:
            clauses = [*on_random, *_decided(group, judgement, details=not on_random)]
        else:
            clauses = [*(on_random or _most_pages(group)), _why_undecided(group, judgement)]
    return f"{subject}, {'; '.join(clauses)}."


def pages(group: Group, arm: Arm) -> float | None:
    """The arm's leaf pages over the control's, as median over blocks."""
    ratio = group.ratio(arm, Metric.LEAF_PAGES)
    return ratio.median if ratio else None


def quoted(names: Sequence[str]) -> str:
    """Names of layouts in a sentence."""
    return listed([f"`{name}`" for name in names], _MOST)


def _decided(group: Group, judgement: Judgement, *, details: bool) -> list[str]:
    """Clauses that say which layouts cost less, as much or more time than the control. With `details`, also how much
    time and how many pages the slowest takes; without, a clause before them has said that of random UUIDs."""
    same, faster = judgement.with_verdict("same"), judgement.with_verdict("faster")
    slower, unclear = judgement.with_verdict("slower"), judgement.with_verdict("unclear")
    clauses = []
    if faster:
        clauses.append(f"{_names(group, faster)} {_takes(faster)} the time of `{CONTROL}`")
    if same:
        clauses.append(f"{_names(group, same)} {'costs' if len(same) == 1 else 'cost'} what `{CONTROL}` costs")
    if slower and details:
        clauses.append(_slower(group, slower, of_control=not clauses))
    elif others := [one for one in slower if one.arm.layout != RANDOM]:
        clauses.append(f"{_names(group, others)} {'takes' if len(others) == 1 else 'take'} longer than `{CONTROL}`")
    if unclear and not (same or faster or slower):
        clauses.append(f"whether any layout takes longer than `{CONTROL}` is not decided")
        clauses += _most_pages(group) if details else []
    elif unclear:
        clauses.append(f"not decided: {_names(group, unclear)}")
    return clauses


def _slower(group: Group, slower: Sequence[ComparedArm], *, of_control: bool) -> str:
    """A clause on the slowest layout, with its pages; `of_control` says whether it names the control."""
    slowest = slower[-1]  # they are sorted by ratio
    share = pages(group, slowest.arm)
    whose = f" of `{CONTROL}`" if of_control else ""
    needed = f" and {more_pages(share)}" if share is not None and round(100 * (share - 1)) else ""
    verb = "takes" if len(slower) == 1 else "takes longest:"
    rest = f" ({count_word(len(slower) - 1)} more take longer too)" if len(slower) > 1 else ""
    return f"`{_name(group, slowest.arm)}` {verb} {times(slowest.ratio.median)} the time{whose}{needed}{rest}"


def _takes(judged: Sequence[ComparedArm]) -> str:
    """The verb with the ratio: `takes 0.90 ×`, or `take 0.85 to 0.90 ×` of several arms, sorted by ratio."""
    low, high = judged[0].ratio.median, judged[-1].ratio.median
    if len(judged) == 1:
        return f"takes {times(low)}"
    return f"take {number(low, 2)} to {times(high)}"


def _names(group: Group, judged: Sequence[ComparedArm]) -> str:
    return quoted([_name(group, one.arm) for one in judged])


def _name(group: Group, arm: Arm) -> str:
    """The layout, with its column only if the layout was measured in several."""
    return arm.layout if sum(one.layout == arm.layout for one in group.arms) == 1 else arm.name


def _most_pages(group: Group) -> list[str]:
    """A clause on the layout that needs the most pages; none without the control or counts of pages."""
    shares = [(share, arm) for arm in group.treatments if (share := pages(group, arm)) is not None]
    if not shares:
        return []
    share = max(share for share, _ in shares)
    if round(100 * (share - 1)) <= 0:
        return [f"no layout needs more pages than `{CONTROL}`"]
    most = [_name(group, arm) for other, arm in shares if round(100 * (share - other)) == 0]  # equal in per cent
    more = more_pages(share).removesuffix(" pages")
    return [f"{quoted(most)} {'needs' if len(most) == 1 else 'need'} the most pages, {more} than `{CONTROL}`"]


def _why_undecided(group: Group, judgement: Judgement | None) -> str:
    """A clause that says why the times decide nothing."""
    if group.modelled:
        return "a page model knows no times"
    if group.control is None:
        return f"times are not compared, because `{CONTROL}` has no successful trial"
    if not group.values(Metric.INSERT_SECONDS):
        return "no time was measured"
    if judgement is None:
        return f"only `{CONTROL}` has a successful trial"
    count = len(group.blocks)
    measured = "it was measured once" if count == 1 else f"it was measured {count_word(count)} times"
    return f"which layout is faster is not decided ({measured}; {count_word(ENOUGH_BLOCKS)} times can decide)"


def _keys(group: Group, subject: str) -> str:
    """The finding on trials that only make keys: the fastest and slowest layout, duplicates, and breaks of order."""
    costs = group.values(Metric.KEY_NS)  # pairs of arm and summary
    if not costs:
        return f"{subject}: no trial gave a value."
    (fast, least), (slow, most) = (pick(costs, key=lambda one: one[1].median) for pick in (min, max))
    sentence = (
        f"{subject}: `{_name(group, fast)}` is the fastest to make, {number(least.median)} ns a key; "
        f"`{_name(group, slow)}` the slowest, {number(most.median)} ns."
    )
    for metric, what in (
        (Metric.DUPLICATE_KEYS, "Duplicate keys"),
        (Metric.ORDER_BREAKS, "Keys lower than the one before"),
    ):
        names = [f"`{_name(group, arm)}`" for arm, summary in group.values(metric) if summary.high > 0]
        sentence += f" {what}: {listed(names) if names else 'none'}."
    return sentence


_MOST_PLACES: Final = 3


@dataclass(frozen=True)
class GroupAnswer:
    """One group's finding: its sentence, the product that it is about, and what decided it."""

    group: Group
    judgement: Judgement | None
    product: str
    """`PostgreSQL 18.4`."""
    sentence: str


def finding(answers: Sequence[GroupAnswer]) -> str:
    """The page's finding in one sentence: where late writers' keys go, what random UUIDs cost on all databases, or the
    answer on one of them."""
    if not answers:
        return "No trial is recorded yet."
    indexed = [one for one in answers if not one.group.only_keys and any(arm.good for arm in one.group.arms)]
    late = [one for one in indexed if lag_clauses(one.group)]
    if late:  # what becomes of the late writers' keys; below, their sentence also says where the others go
        return f"{late[0].sentence.partition('; ')[0].removesuffix('.')}."
    if len(indexed) < 2:
        return (indexed or answers)[0].sentence
    beside = [random_beside_best(one.group) for one in indexed]
    if all(beside):
        return _by_random(indexed, [one for one in beside if one])
    return indexed[leading(indexed)].sentence


def leading(answers: Sequence[GroupAnswer]) -> int:
    """The index of the answer to show first: with decided times, else with times, else with an index, else 0."""
    judged = [i for i, one in enumerate(answers) if one.judgement is not None and one.judgement.enough]
    timed = [i for i, one in enumerate(answers) if one.judgement is not None]
    indexed = [i for i, one in enumerate(answers) if not one.group.only_keys]
    return next(iter([*judged, *timed, *indexed, 0]))


def _by_random(indexed: Sequence[GroupAnswer], beside: Sequence[RandomBesideBest]) -> str:
    """What random UUIDs cost on these databases: on each of a few, else as a range."""
    modelled = all(one.group.modelled for one in indexed)
    products = [one.product for one in indexed]
    preposition = "by the page model of" if modelled else "on"
    if len(set(products)) == len(products) <= _MOST_PLACES:  # each product once
        subjects = ["random UUIDs", *["they"] * (len(products) - 1)]
        parts = zip(products, subjects, beside, strict=True)
        sentence = "; ".join(f"{preposition} {product}, {subject} {cost.clause}" for product, subject, cost in parts)
        return f"{sentence[0].upper()}{sentence[1:]}."
    low, high = (round(100 * (pick(one.pages for one in beside) - 1)) for pick in (min, max))  # % more pages
    where = f"{'By the page models of' if modelled else 'On'} {_places(indexed)}"
    longer = [one.time.median for one in beside if one.time]
    time = f" and {_between(longer)} the time" if longer else ""
    share = f"{low} to {high}" if 0 < low < high else f"up to {high}"  # all equal, or no more on one of them
    best = {one.best for one in beside}
    than = best.pop() if len(best) == 1 else "the best key of their width"
    return f"{where}, random UUIDs need {share}\u00a0% more pages than {than}{time}."


def _between(values: Sequence[float]) -> str:
    """The range of ratios: `1.20 to 1.70 ×`."""
    low, high = min(values), max(values)
    return times(high) if f"{low:.2f}" == f"{high:.2f}" else f"{number(low, 2)} to {times(high)}"


def _places(answers: Sequence[GroupAnswer]) -> str:
    """The products by name; if they are many, only their number."""
    products = list(dict.fromkeys(one.product for one in answers))
    if len(products) > _MOST_PLACES:
        return f"all {count_word(len(products))} databases"
    return listed(products, _MOST_PLACES)


def what_ran(run: Run, groups: Sequence[Group], products: Sequence[str]) -> str:
    """What was run, as `keybench inserted 5,000 rows with each of 4 kinds of key into SQLite 3.54, once.`"""
    inserting = [group for group in groups if not group.only_keys]
    if not groups:
        return "No trial is recorded yet."
    rows = listed([f"{count:,}" for count in sorted({group.rows for group in groups})], last="or")
    layouts = len({arm.layout for group in groups for arm in group.arms})
    keys = "one kind of key" if layouts == 1 else f"each of {layouts} kinds of key"
    often = repeated(max(len(group.blocks) for group in groups))
    if not inserting:
        return f"keybench made {rows} keys of {keys}, {often}; nothing was inserted."
    payloads = listed([run.characters(size) for size in sorted({group.payload for group in inserting})], last="or")
    modelled = all(group.modelled for group in inserting)
    did, into = ("computed what becomes of", "in page models of") if modelled else ("inserted", "into")
    writers = max(trial.writers for group in inserting for trial in group.trials)
    from_writers = "" if writers == 1 else f" from {plural(writers, 'writer')} at the same time"
    return (
        f"keybench {did} {rows} rows ({payloads} beside the key) with {keys}{from_writers} {into} "
        f"{listed(list(dict.fromkeys(products)))}, {often}."
    )


def repeated(blocks: int) -> str:
    """How often all was measured, in words: `once`, `six times, in shuffled order`."""
    if blocks == 1:
        return "once"
    return f"{'twice' if blocks == 2 else f'{count_word(blocks)} times'}, in shuffled order"
