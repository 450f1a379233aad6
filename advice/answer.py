"""The answer to `keybench advise`: what is recommended, by what figures, and how to do it."""

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Final

from keybench.advice.candidates import Candidate, candidates, for_new_rows
from keybench.advice.decision import Decision, decide
from keybench.advice.how_to.existing import Option, options
from keybench.advice.how_to.libraries import LibraryCall, calls_for
from keybench.advice.how_to.orm import Snippet, snippet
from keybench.advice.how_to.statements import create_table, create_with_public_id
from keybench.advice.index_forecast import ForecastCase, IndexForecast, forecast
from keybench.advice.needs import ExistingKeys, Needs, coming
from keybench.advice.ranking import Choice, Ranking, judge, ranking
from keybench.databases.contract.statements import Statement
from keybench.errors import UsageError
from keybench.generators.core.layout import layout
from keybench.model.names import CONTROL, RANDOM
from keybench.model.table import Table

SMALL: Final = 32 << 20
"""Bytes of an index below which no choice of keys matters."""
_CORES = 2  # threads that forecast layouts side by side


@dataclass(frozen=True)
class Answer:
    """Everything that the outputs show."""

    needs: Needs
    ranking: Ranking
    existing: Choice | None
    """The keys that the table has; None also if they end before the table does, which `ends` says."""
    options: Sequence[Option]
    """What can be done about them; empty if there are none, or if they are the recommended ones."""
    calls: Sequence[LibraryCall]
    """One for each language that has a well-kept library for the recommended layout; none where a mapping is shown."""
    mapping: Snippet | None
    """For the ORM that the user named."""
    statements: Sequence[Statement]
    """The table with the recommended key."""
    refused: Sequence[tuple[str, str]]
    """Layouts that cannot be forecast, and why."""
    decision: Decision | None = None
    """What to do about the keys that the table has; None without options."""
    public_id: IndexForecast | None = None
    """The index of a second, random id for people outside; None where nobody needs one."""
    with_public_id: Sequence[Statement] = ()
    """A new table with a counter as its key and such an id, where the engine knows one."""
    ends: str = ""
    """Why the keys that the table has cannot go on to the last row."""

    @property
    def best(self) -> Candidate:
        """What is recommended."""
        return self.ranking.best.candidate

    @property
    def compared(self) -> Choice | None:
        """What the best is compared with: the keys that exist, else random GUIDs, else the integer control."""
        if self.existing and self.existing.candidate.name != self.best.name:
            return self.existing
        judged = (*self.ranking.meeting, *self.ranking.missing)
        common = [one for name in (RANDOM, CONTROL) for one in judged if one.candidate.name == name]
        return next((one for one in common if one.candidate.name != self.best.name), None)

    @property
    def small(self) -> bool:
        """Whether the key hardly matters: every layout's index fits into a corner of any server's memory."""
        return max(one.forecast.index_bytes.value for one in self.ranking.meeting) < SMALL

    @property
    def place(self) -> str:
        """What holds the keys: their index, or the table where rows lie in the order of the key."""
        return "the table" if self.needs.on.secondary_holds_key else "the index"

    @property
    def command(self) -> str:
        """The command that measures what is forecast here."""
        order = self.ranking
        compared = [one.candidate for one in (order.best, order.runner_up, *order.avoid[:1]) if one]
        return (
            f"keybench run --db {self.needs.on.name} "
            f"--layout {','.join(dict.fromkeys(one.name for one in compared))} "
            f"--column {','.join(sorted({one.column.name for one in compared}))} "
            f"--rows 1000000 --payload {self.needs.payload}"
        )


def answer(needs: Needs, *, foreign: bool = False) -> Answer:
    """Forecasts every layout that people can get, and chooses. UsageError if no layout meets the needs. `foreign`: also
    layouts whose order the column undoes. They are never chosen, and take as long as all others."""
    # forecast all candidates, and put those that have one in order
    all_candidates = candidates(needs, lambda name: bool(calls_for(name)))
    if all(one.misses for one in all_candidates):
        raise UsageError(_contradiction(needs, all_candidates))
    named = {*needs.layouts, *([needs.existing.layout] if needs.existing else [])}
    fitting = [one for one in all_candidates if one.fits or one.name in named]
    if not foreign and any(not one.misses for one in fitting):
        all_candidates = fitting
    outcomes = list(zip(all_candidates, _forecasts(needs, all_candidates), strict=True))
    refused = [(one.label, why) for one, why in outcomes if isinstance(why, str)]
    forecasts = [(one, outcome) for one, outcome in outcomes if isinstance(outcome, IndexForecast)]
    today = _today(all_candidates, needs.existing)
    order = ranking(
        judge(forecasts, needs), needs.made_by, _languages, is_today=lambda one: one is today, named=needs.layouts
    )
    if order is None:
        raise UsageError(f"no layout that meets the needs can be forecast. {refused[0][0]}: {refused[0][1]}")
    # how to get the best, and what to do about the keys that the table has
    best = order.best.candidate
    existing = next((one for one in (*order.meeting, *order.missing) if one.candidate is today), None)
    ways, decision, new_keys = _ways(needs, existing, order.best, all_candidates)
    calls: dict[str, LibraryCall] = {}
    for call in calls_for(new_keys.name):
        calls.setdefault(call.language, call)  # the first of each language is the one to prefer
    return Answer(
        needs=needs,
        ranking=order,
        existing=existing,
        options=ways,
        decision=decision,
        calls=() if needs.orm else tuple(calls.values()),
        mapping=_mapping(needs, new_keys),
        statements=create_table(needs.on, needs.version, best.column, best.name, by_clients=needs.made_by == "client"),
        refused=refused,
        public_id=_public_id(needs) if needs.public_id or needs.new_public_id else None,
        with_public_id=create_with_public_id(needs.on, needs.version) if needs.new_public_id else (),
        ends=dict(refused).get(today.label, "") if today else "",
    )


def _ways(
    needs: Needs, existing: Choice | None, best: Choice, all_candidates: Sequence[Candidate]
) -> tuple[Sequence[Option], Decision | None, Candidate]:
    """(what can be done about the keys that the table has, the decision, the keys that rows to come get). Empty, None
    and the best keys if the table has no keys, keys without a forecast, or the best ones, or gets a second id."""
    if not existing or existing.candidate.label == best.candidate.label or needs.public_id:
        return [], None, best.candidate
    switched = for_new_rows(needs, existing.candidate, best.candidate, all_candidates, _languages)
    assert needs.existing
    ways = options(
        needs.on,
        existing.candidate.table(needs.payload),
        existing.candidate.name,
        needs.existing.rows,
        best.candidate.name,
        coming(needs.rows, needs.existing),
        rows_per_second=needs.rows_per_second,
        new_column=best.candidate.column,
        server=needs.server,
        switched=switched.name if switched else "",
    )
    decision = decide(needs, ways, existing, best)
    switches = "switch" in decision.way.option.name  # with a rebuild or without
    return ways, decision, switched if switched and switches else best.candidate


def _languages(name: str) -> int:
    """In how many languages a well-kept library makes the layout."""
    return len({call.language for call in calls_for(name)})


def _mapping(needs: Needs, new_keys: Candidate) -> Snippet | None:
    """How the ORM that the user named maps the keys that new rows get; None without an ORM."""
    if not needs.orm:
        return None
    by_server = needs.made_by == "server" or (needs.made_by == "any" and new_keys.properties.server is not None)
    return snippet(needs.orm, needs.on, needs.version, new_keys.column, new_keys.name, by_server=by_server)


def _public_id(needs: Needs) -> IndexForecast:
    """The index of random GUIDs beside the table's key."""
    column = needs.on.default_column("uuid", layout(RANDOM).shared_bits())
    settings = needs.on.settings_of_versions.get(needs.version, {})
    table = Table("t", column, needs.payload, "nonclustered", settings=settings)
    return forecast(ForecastCase(needs.on, table, RANDOM, needs.growth, needs.server))


def _today(all_candidates: Sequence[Candidate], existing: ExistingKeys | None) -> Candidate | None:
    """The candidate with the keys that the table has, in the column that the user named, else in the usual one. None if
    there is no such candidate."""
    same = [one for one in all_candidates if existing and one.name == existing.layout]
    if existing and existing.column:
        same = [one for one in same if one.column.name == existing.column]
    usual = [one for one in same if one.label == one.name]  # a label has the column only if it is unusual
    return next(iter([*usual, *same]), None)


def _forecasts(needs: Needs, all_candidates: Sequence[Candidate]) -> list[IndexForecast | str]:
    """The forecast of each candidate, or why there is none: its keys may end before the table does."""

    def forecast_or_reason(candidate: Candidate) -> IndexForecast | str:
        shared, _ = candidate.layout.shared_bits()  # which bits are the same in all its keys
        greatest = (1 << (len(shared) - int(shared.sum()))) - 1  # all other bits are 1
        if candidate.layout.kind == "int" and candidate.layout.reads_clock == "never" and needs.rows > greatest:
            return f"the greatest of them is {greatest:,}"  # a counter: a forecast from fewer rows would not notice it
        table = candidate.table(needs.payload)
        try:
            return forecast(ForecastCase(needs.on, table, candidate.name, needs.growth, needs.server))
        except UsageError as why:
            return str(why)

    with ThreadPoolExecutor(_CORES) as pool:
        return list(pool.map(forecast_or_reason, all_candidates))


def _contradiction(needs: Needs, all_candidates: Sequence[Candidate]) -> str:
    """Why no layout is left: what each condition alone leaves out, and which one to drop."""
    asked = " ".join(needs.conditions)
    lines = []
    for option in needs.conditions:
        # those that miss nothing else
        left = [one.name for one in all_candidates if set(one.missed_options) <= {option}]
        if left:
            lines.append(f"without {option}, {', '.join(f'`{name}`' for name in list(dict.fromkeys(left))[:3])}")
    advice = f"drop one: {'; '.join(lines)}." if lines else "drop two of them or more."
    return f"no layout on {needs.on.title} {needs.version} meets {asked} at once: {advice}"
