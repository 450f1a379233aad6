"""The answer to `keybench advise`: what is recommended, by what figures, and how to do it."""

from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from pathlib import Path

from keybench.advice.candidates import Candidate, candidates
from keybench.advice.figure import Figure
from keybench.advice.how_to.existing import Name, Option, options
from keybench.advice.how_to.libraries import LibraryCall, calls_for
from keybench.advice.how_to.past import DeletionEffect, deletion_effect
from keybench.advice.how_to.statements import create_table
from keybench.advice.index_forecast import IndexForecast, Question, forecast
from keybench.advice.needs import ExistingKeys, Needs, coming
from keybench.advice.ranking import Choice, Ranking, judge, ranking
from keybench.databases.contract.engine import Engine
from keybench.databases.contract.statements import Statement
from keybench.errors import UsageError
from keybench.generators.core.layout import layout
from keybench.model.names import CONTROL, RANDOM

_CORES = 2  # threads that forecast layouts side by side


@dataclass(frozen=True)
class Measurement:
    """How long inserts took in an earlier run, as a ratio to integer keys (the control) in the same repetition."""

    ratio: Figure
    rows: int
    blocks: int
    run: str


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
    """One for each language that has a well-kept library for the recommended layout."""
    statements: Sequence[Statement]
    """The table with the recommended key."""
    measured: Mapping[tuple[str, str], Measurement]
    """What was measured here before, by layout and column."""
    refused: Sequence[tuple[str, str]]
    """Layouts that cannot be forecast, and why."""
    ends: str = ""
    """Why the keys that the table has cannot go on to the last row."""
    deletions: Mapping[str, DeletionEffect | None] | None = None
    """By label, what deleting old rows does to the best keys and to those that they are compared with; None where all
    rows stay, and for keys of which no model knows deletions."""

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
    def ways(self) -> Mapping[Name, Option]:
        """The options by name."""
        return {one.name: one for one in self.options}

    @property
    def place(self) -> str:
        """What holds the keys: their index, or the table where rows lie in the order of the key."""
        return "the table" if self.needs.on.secondary_holds_key else "the index"

    @property
    def command(self) -> str:
        """The command that measures what is forecast here."""
        choices = [self.ranking.best, self.ranking.runner_up, *self.ranking.avoid[:1]]
        compared = [one.candidate for one in choices if one]
        return (
            f"keybench run --db {self.needs.on.name} "
            f"--layout {','.join(dict.fromkeys(one.name for one in compared))} "
            f"--column {','.join(sorted({one.column.name for one in compared}))} "
            f"--rows 1000000 --payload {self.needs.payload}"
        )


def answer(needs: Needs, results: str = "", say: Callable[[str], None] = lambda _: None) -> Answer:
    """Forecasts every layout that people can get, and chooses. UsageError if no layout meets the needs.

    `results`: a results database, whose measurements are shown; empty for none.
    """
    choices = candidates(needs, lambda name: bool(calls_for(name)))
    if all(one.misses for one in choices):
        raise UsageError(_contradiction(needs, choices))
    say(f"{len(choices)} layouts on {needs.on.title}")
    forecasts = list(zip(choices, _forecasts(needs, choices), strict=True))
    refused = [(one.label, why) for one, why in forecasts if isinstance(why, str)]
    today = _today(choices, needs.existing)
    order = ranking(
        judge([(one, outcome) for one, outcome in forecasts if isinstance(outcome, IndexForecast)], needs),
        needs.made_by,
        lambda name: len({call.language for call in calls_for(name)}),
        lambda one: one is today,
    )
    if order is None:
        raise UsageError(f"no layout that meets the needs can be forecast. {refused[0][0]}: {refused[0][1]}")
    best = order.best.candidate
    existing = next((one for one in (*order.meeting, *order.missing) if one.candidate is today), None)
    calls: dict[str, LibraryCall] = {}
    for call in calls_for(best.name):
        calls.setdefault(call.language, call)  # the first of each language is the one to prefer
    reply = Answer(
        needs=needs,
        ranking=order,
        existing=existing,
        options=_options(needs, existing.candidate, best)
        if existing and existing.candidate.label != best.label
        else [],
        calls=tuple(calls.values()),
        statements=create_table(needs.on, needs.version, best.column, best.name, by_clients=needs.made_by == "client"),
        measured=measured(results, needs.on) if results else {},
        refused=refused,
        ends=dict(refused).get(today.label, "") if today else "",
    )
    if not needs.retention_days:
        return reply
    shown = [one.candidate for one in (order.best, reply.compared) if one]
    effects = {
        one.label: deletion_effect(needs.on, one.table(needs.payload), one.name, needs.rows, needs.rows_per_second)
        for one in shown
    }
    return replace(reply, deletions=effects)


def _options(needs: Needs, today: Candidate, best: Candidate) -> Sequence[Option]:
    """What can be done about the keys that the table has."""
    assert needs.existing
    return options(
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


def _today(choices: Sequence[Candidate], existing: ExistingKeys | None) -> Candidate | None:
    """The keys that the table has: in the named column, else in the one that people give them on that version."""
    same = [one for one in choices if existing and one.name == existing.layout]
    if existing and existing.column:
        same = [one for one in same if one.column.name == existing.column]
    usual = [one for one in same if one.label == one.name]
    return next(iter([*usual, *same]), None)


def _forecasts(needs: Needs, choices: Sequence[Candidate]) -> list[IndexForecast | str]:
    """One for each candidate, or why there is none: its keys may end before the table does."""

    def forecast_or_reason(candidate: Candidate) -> IndexForecast | str:
        table = candidate.table(needs.payload)
        try:
            return forecast(Question(needs.on, table, candidate.name, needs.growth, needs.server))
        except UsageError as why:
            return str(why)

    with ThreadPoolExecutor(_CORES) as pool:
        return list(pool.map(forecast_or_reason, choices))


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


def measured(results: str, on: Engine) -> Mapping[tuple[str, str], Measurement]:
    """By layout and column, from the latest run on a server of this engine that has it; with six blocks or more.

    Empty if there is no such file. UsageError for a file that is no results database.
    """
    if "://" not in results and not Path(results).exists():
        return {}
    # Imported late: SQLAlchemy takes half a second, and most people have no results.
    from keybench.results.analysis.group_comparison import time_metric
    from keybench.results.analysis.groups import group_trials
    from keybench.results.store.database import Store

    times: dict[tuple[str, str], Measurement] = {}
    with Store.open(results, write=False) as store:
        for run in store.runs():
            for group in group_trials(run, store.trials(run.id), store.environments(run.id)):
                if group.database != on.name or group.modelled:
                    continue
                metric = time_metric(group)
                for arm in group.arms:
                    ratio = group.ratio(arm, metric)
                    if ratio and ratio.interval and arm.layout != CONTROL:
                        low, high = min(ratio.low, ratio.median), max(ratio.high, ratio.median)
                        figure = Figure(ratio.median, low, high, "measured")
                        times[arm.layout, arm.column] = Measurement(figure, group.rows, ratio.blocks, group.run.id)
    return times
