"""Which layout is best: the one whose rows move the fewest bytes, of those that meet the needs."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final

from keybench.advice.candidates import Candidate
from keybench.advice.figure import Figure
from keybench.advice.index_forecast import IndexForecast
from keybench.advice.needs import MadeBy, Needs
from keybench.advice.row_cost import KNEE
from keybench.model.names import CONTROL, RANDOM

ALIKE: Final = 1.03
"""Layouts whose bytes differ by less are alike: what a table is used for matters more."""
WORSE: Final = 1.2
"""From which ratio on a layout is one to avoid."""
_MOST_TO_AVOID: Final = 3  # layouts to avoid that an answer names, at most


@dataclass(frozen=True)
class Choice:
    """A candidate, what is forecast of it, and the bytes that each of its rows moves."""

    candidate: Candidate
    forecast: IndexForecast
    elsewhere: float
    """Bytes of the key that other indexes and tables hold for each row."""
    moved: Figure
    """Bytes a row: the index, the log, pages that have to be read, and `elsewhere`."""
    assumed: bool = False
    """Whether log or reads are not known, and count as the most of the others."""

    @property
    def meets(self) -> bool:
        """Whether it meets all needs."""
        return not self.candidate.misses


@dataclass(frozen=True)
class Ranking:
    """The order of the candidates."""

    best: Choice
    runner_up: Choice | None
    gains: tuple[str, ...]
    """The options that ask for what the runner-up has and the best one has not."""
    avoid: tuple[Choice, ...]
    meeting: tuple[Choice, ...]
    """All that meet the needs, by bytes moved."""
    missing: tuple[Choice, ...]
    spared: Choice | None = None
    """Keys that would move fewer bytes but do not meet a need, other than that of their type or maker."""


def judge(candidates: Sequence[tuple[Candidate, IndexForecast]], needs: Needs) -> list[Choice]:
    """Each candidate with the bytes that its rows move. Log or reads that are not known for a candidate count as the
    most of the other candidates', so that nothing is recommended because little is known of it."""
    logs = [forecast.log_bytes for _, forecast in candidates if forecast.log_bytes]
    reads = [forecast.reads for _, forecast in candidates if forecast.reads]
    most_log, most_reads = (max(figures, key=lambda one: one.value, default=None) for figures in (logs, reads))
    return [_choice(candidate, forecast, needs, most_log, most_reads) for candidate, forecast in candidates]


def _choice(
    candidate: Candidate, forecast: IndexForecast, needs: Needs, most_log: Figure | None, most_reads: Figure | None
) -> Choice:
    """Adds up the bytes that a row of one candidate moves; log or reads that are not known count as the most."""
    log, reads = forecast.log_bytes or most_log, forecast.reads or most_reads
    in_indexes = needs.secondary if needs.on.secondary_holds_key else 0
    entries = in_indexes + 2 * needs.children  # a child has the key and its index
    elsewhere = float(entries * candidate.column.width)
    # bytes of the index, of the log, and of pages read, a row each
    parts = [forecast.index_bytes.times(1 / needs.rows)]
    parts += [log] if log else []
    parts += [reads.times(round(forecast.bytes_a_leaf))] if reads else []
    value, low, high = (sum(getattr(part, end) for part in parts) + elsewhere for end in ("value", "low", "high"))
    moved = Figure(value, low, high, forecast.index_bytes.kind)
    assumed = log is not forecast.log_bytes or reads is not forecast.reads
    return Choice(candidate=candidate, forecast=forecast, elsewhere=elsewhere, moved=moved, assumed=assumed)


def ranking(
    judged: Sequence[Choice],
    made_by: MadeBy,
    languages: Callable[[str], int],
    is_today: Callable[[Candidate], bool] = lambda _: False,
    named: Sequence[str] = (),
) -> Ranking | None:
    """The order of the candidates; None if none of them meets the needs. `made_by`: who has to make the keys.
    `languages`: in how many languages a well-kept library makes a layout. `is_today`: whether the table has these keys
    today. `named`: layouts that the user asked about, which come first among equals."""
    ordered = sorted(judged, key=lambda one: one.moved.value)
    meeting = [one for one in ordered if one.meets]
    if not meeting:
        return None
    # Each rule holds only if it leaves something: keys whose order the column undoes are no choice, and keys for which
    # somebody has to number the writers are not the best.
    fitting = [one for one in meeting if one.candidate.fits] or meeting
    unnumbered = [one for one in fitting if one.candidate.properties.uniqueness != "worker id"] or fitting
    alike = [one for one in fitting if one.moved.value <= ALIKE * unnumbered[0].moved.value]
    of_today = [one for one in alike if is_today(one.candidate)]  # stay if they are as good as the best
    cheapest = of_today or [one for one in alike if one in unnumbered]
    best = max(cheapest, key=lambda one: _ease(one, languages, named, made_by))  # of equals the first: fewest bytes
    # second: what offers something that the best does not, or moves clearly fewer bytes
    others = [one for one in fitting if one.candidate.name != best.candidate.name]
    better_at_something = [
        one
        for one in others
        if (one in unnumbered and gains(one.candidate, best.candidate, made_by))
        or ALIKE * one.moved.value < best.moved.value
    ]
    runner_up = easiest(better_at_something or others, languages)
    return Ranking(
        best=best,
        runner_up=runner_up,
        gains=gains(runner_up.candidate, best.candidate, made_by) if runner_up else (),
        avoid=_avoided(ordered, best, runner_up),
        meeting=tuple(meeting),
        missing=tuple(one for one in ordered if not one.meets),
        spared=easiest([one for one in ordered if _cheaper_but_missing(one, best)], languages),
    )


def _cheaper_but_missing(one: Choice, best: Choice) -> bool:
    """Whether `one` moves clearly fewer bytes than the best, and only other needs than type and maker rule it out."""
    cheaper = one.moved.high * ALIKE < best.moved.low
    return cheaper and one.candidate.fits and not (one.meets or one.assumed or _of_other_type_or_maker(one))


def _of_other_type_or_maker(one: Choice) -> bool:
    """Whether its keys are of another type, or made by others, than the needs say."""
    return any(option.startswith(("--type", "--made-by")) for option in one.candidate.missed_options)


def _disturbs(one: Choice, best: Choice) -> bool:
    """Whether `one` splits more pages than the best, or reads pages. (To be only wider is no reason to avoid it.)"""
    reads = one.forecast.reads.value if one.forecast.reads else 0.0
    more_splits = one.forecast.splits.value > best.forecast.splits.value + 0.5  # half a split for 1,000 rows
    return more_splits or reads >= KNEE


def gains(one: Candidate, other: Candidate, made_by: MadeBy = "any") -> tuple[str, ...]:
    """The options that `one` meets and `other` does not. --hides-machine is left out: it is too little to choose a key
    for. So is --made-by, unless the user lets anybody make the keys."""
    ours, theirs = one.properties.offers, other.properties.offers
    more = [option for option in ours if ours[option] and not theirs[option] and option != "--hides-machine"]
    return tuple(option for option in more if made_by == "any" or not option.startswith("--made-by"))


def _ease(
    one: Choice, languages: Callable[[str], int], named: Sequence[str] = (), made_by: MadeBy = "any"
) -> tuple[bool, bool, bool, bool, bool, int]:
    """What decides between layouts that move as many bytes; the greatest tuple is the best. First the control; then
    keys that keep few pages in use; then keys that are easy to get: in the engine's own column, asked about by people,
    made by the server if it has to make them, by libraries in many languages (the server counts as one more)."""
    candidate = one.candidate
    return (
        candidate.name == CONTROL,
        candidate.properties.contention != "many pages",
        candidate.column.native,
        candidate.name in named,
        made_by == "server" and candidate.properties.server is not None,
        languages(candidate.name) + (candidate.properties.server is not None),
    )


def easiest(judged: Sequence[Choice], languages: Callable[[str], int]) -> Choice | None:
    """The easiest to get of those that move about as few bytes as the first, which moves fewest; None if none are."""
    if not judged:
        return None
    alike = [one for one in judged if one.moved.value <= ALIKE * judged[0].moved.value]
    return max(alike, key=lambda one: _ease(one, languages))


def _avoided(ordered: Sequence[Choice], best: Choice, runner_up: Choice | None) -> tuple[Choice, ...]:
    """Layouts that a user might take and should not: they meet the needs, but move many more bytes than the best, and
    split or read more pages. Random GUIDs come first, also where they miss a need; then the worst."""
    # they are worse than the second choice, too, unless that is far from the best itself
    near = runner_up is not None and runner_up.moved.high < 2 * WORSE * best.moved.high
    most = max(best.moved.high, runner_up.moved.high) if runner_up and near else best.moved.high
    worse = [
        one
        for one in reversed(ordered)
        if one.moved.low > WORSE * most
        and not (one.assumed or _of_other_type_or_maker(one))
        and _disturbs(one, best)
        and (one.meets or one.candidate.name == RANDOM)
    ]
    worse.sort(key=lambda one: one.candidate.name != RANDOM)  # False is first: random GUIDs
    by_size: dict[float, Choice] = {}
    for one in worse:  # layouts whose indexes are equally large grow alike: one stands for all
        by_size.setdefault(one.forecast.index_bytes.value, one)
    return tuple(by_size.values())[:_MOST_TO_AVOID]
