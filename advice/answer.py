"""The answer to a form: what is recommended, by what figures, and how to do it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace

from keybench.advice.candidates import Candidate, candidates
from keybench.advice.how_to import existing as of_existing
from keybench.advice.how_to.existing import Option
from keybench.advice.how_to.libraries import LibraryCall, calls_for
from keybench.advice.how_to.old_rows import Growth, growth
from keybench.advice.how_to.statements import Statement, create_table
from keybench.advice.index_forecast import IndexForecast, Question, forecast
from keybench.advice.measured import Measured, measured
from keybench.advice.needs import Existing, Needs, coming
from keybench.advice.ranking import Judged, Ranking, judge, ranking
from keybench.errors import UsageError
from keybench.generators.core.layout import layout
from keybench.model.names import CONTROL, RANDOM

_CORES = 2


@dataclass(frozen=True)
class Answer:
    """Everything that the outputs show."""

    needs: Needs
    ranking: Ranking
    existing: Judged | None
    """The keys that the table has; None also if they end before the table does, which `ends` says."""
    options: Sequence[Option]
    """What can be done about them; empty if there are none, or if they are the recommended ones."""
    calls: Sequence[LibraryCall]
    """One for each language that has a well-kept library for the recommended layout."""
    statements: Sequence[Statement]
    """The table with the recommended key."""
    measured: Mapping[tuple[str, str], Measured]
    """What was measured here before, by layout and column."""
    refused: Sequence[tuple[str, str]]
    """Layouts that cannot be forecast, and why."""
    ends: str = ""
    """Why the keys that the table has cannot go on to the last row."""
    deletions: Mapping[str, Growth | None] | None = None
    """By label, what deleting old rows does to the best keys and to those that they are compared with; None where all
    rows stay, and for keys of which no model knows deletions."""

    @property
    def best(self) -> Candidate:
        """What is recommended."""
        return self.ranking.best.candidate

    @property
    def compared(self) -> Judged | None:
        """What the best is compared with: the keys that exist, else random GUIDs, else the integer control."""
        if self.existing and self.existing.candidate.name != self.best.name:
            return self.existing
        every = (*self.ranking.meeting, *self.ranking.missing)
        of = {name: [one for one in every if one.candidate.name == name] for name in (RANDOM, CONTROL)}
        return next((found[0] for name, found in of.items() if found and name != self.best.name), None)

    @property
    def place(self) -> str:
        """What holds the keys: their index, or the table where rows lie in the order of the key."""
        return "the table" if self.needs.on.secondary_holds_key else "the index"

    @property
    def command(self) -> str:
        """The command that measures what is forecast here."""
        names = [one.candidate.name for one in self._told()]
        columns = {one.candidate.column.name for one in self._told()}
        return (
            f"keybench run --db {self.needs.on.name} --layout {','.join(dict.fromkeys(names))} "
            f"--column {','.join(sorted(columns))} --rows 1000000 --payload {self.needs.payload}"
        )

    def _told(self) -> list[Judged]:
        chosen = [self.ranking.best, self.ranking.runner_up, *self.ranking.avoid[:1]]
        return [one for one in chosen if one]


def answer(needs: Needs, results: str = "", say: Callable[[str], None] = lambda _: None) -> Answer:
    """Forecasts every layout that people can get, and chooses. UsageError if no layout meets the needs.

    `results`: a results database, whose measurements are told; empty for none.
    """
    choices = candidates(needs, lambda name: bool(calls_for(name)))
    if all(one.misses for one in choices):
        raise UsageError(_contradiction(needs, choices))
    say(f"{len(choices)} layouts on {needs.on.title}")
    forecasts = _forecasts(needs, choices)
    known = [(one, made) for one, made in zip(choices, forecasts, strict=True) if isinstance(made, IndexForecast)]
    refused = [(one.label, why) for one, why in zip(choices, forecasts, strict=True) if isinstance(why, str)]
    today = _today(choices, needs.existing)
    order = ranking(
        judge(known, needs),
        needs.made_by,
        lambda name: len({call.language for call in calls_for(name)}),
        lambda one: one is today,
    )
    if order is None:
        raise UsageError(f"no layout that meets the needs can be forecast. {refused[0][0]}: {refused[0][1]}")
    best = order.best.candidate
    judged = (*order.meeting, *order.missing)
    existing = next((one for one in judged if one.candidate is today), None) if needs.existing else None
    calls: dict[str, LibraryCall] = {}
    for call in calls_for(best.name):
        calls.setdefault(call.language, call)
    reply = Answer(
        needs,
        order,
        existing,
        _options(needs, existing.candidate, best) if existing and existing.candidate.label != best.label else [],
        tuple(calls.values()),
        create_table(needs.on, needs.version, best.column, best.name, by_clients=needs.made_by == "client"),
        measured(results, needs.on) if results else {},
        tuple(refused),
        dict(refused).get(today.label, "") if today else "",
    )
    return replace(reply, deletions=_deletions(reply)) if needs.retention_days else reply


def _options(needs: Needs, today: Candidate, best: Candidate) -> Sequence[Option]:
    """What can be done about the keys that the table has."""
    assert needs.existing
    return of_existing.options(
        needs.on,
        today.table(needs.payload),
        layout(needs.existing.layout).name,
        needs.existing.rows,
        best.name,
        coming(needs.rows, needs.existing),
        rows_per_second=needs.rows_per_second,
        new_column=best.column,
        server=needs.server,
    )


def _deletions(answer: Answer) -> dict[str, Growth | None]:
    needs, shown = answer.needs, [answer.ranking.best, *([answer.compared] if answer.compared else [])]
    return {
        one.candidate.label: growth(
            needs.on, one.candidate.table(needs.payload), one.candidate.name, needs.rows, needs.rows_per_second
        )
        for one in shown
    }


def _today(choices: Sequence[Candidate], existing: Existing | None) -> Candidate | None:
    """The keys that the table has: in the named column, else in the one that people give them on that version."""
    same = [one for one in choices if existing and one.name == existing.layout]
    if existing and existing.column:
        same = [one for one in same if one.column.name == existing.column]
    usual = [one for one in same if one.label == one.name]
    return next(iter([*usual, *same]), None)


def _forecasts(needs: Needs, choices: Sequence[Candidate]) -> list[IndexForecast | str]:
    """One for each candidate, or why there is none: its keys may end before the table does."""

    def one(candidate: Candidate) -> IndexForecast | str:
        table = candidate.table(needs.payload)
        try:
            return forecast(Question(needs.on, table, candidate.name, needs.growth, needs.server))
        except UsageError as why:
            return str(why)

    with ThreadPoolExecutor(_CORES) as pool:
        return list(pool.map(one, choices))


def _contradiction(needs: Needs, choices: Sequence[Candidate]) -> str:
    """Why no layout is left: what each condition alone leaves out, and which one to drop."""
    asked = " ".join(needs.conditions)
    lines = []
    for option in needs.conditions:
        without = [one.name for one in choices if set(one.missed_options) <= {option}]
        if without:
            lines.append(f"without {option}, {', '.join(f'`{name}`' for name in list(dict.fromkeys(without))[:3])}")
    advice = f"drop one: {'; '.join(lines)}." if lines else "drop two of them or more."
    return f"no layout on {needs.on.title} {needs.version} meets {asked} at once: {advice}"
