"""Advice beside measured times: does the order of layouts by bytes moved agree with that of docs/example?

Kendall's τ over the pairs of layouts whose measured times are decided: (pairs in the same order − pairs in the other)
÷ pairs. A pair is decided if the 95 % intervals of its two ratios to the control do not overlap.
"""

from collections.abc import Iterator
from itertools import combinations
from pathlib import Path

from keybench.advice.candidates import Candidate, candidates
from keybench.advice.index_forecast import ForecastCase, forecast
from keybench.advice.load import Growth
from keybench.advice.needs import USUAL, needs
from keybench.advice.ranking import ALIKE, judge
from keybench.databases.contract.settings import Profile
from keybench.databases.registry import engine
from keybench.pagemodels.costs.contract import Server
from keybench.results.analysis.group_comparison import time_metric
from keybench.results.analysis.groups import Group, group_trials
from keybench.results.analysis.ratios import Summary
from keybench.results.bundle.reading import Bundle, read_bundle

EXAMPLE = Path(__file__).parent.parent / "docs/example/runs"
_AT_LEAST = 0.8


def compare(rows: int, repetitions: int) -> Iterator[str]:  # noqa: ARG001 (what was measured fixes the rows)
    """The lines of this part of the report."""
    yield "\nAdvice: the order of layouts by bytes moved, beside measured times of docs/example"
    for path in sorted(EXAMPLE.glob("*/*.zip")):
        bundle = read_bundle(path)
        for group in group_trials(bundle.run, bundle.trials, bundle.environments):
            if not group.modelled and len(group.arms) > 2 and not group.column:
                yield from _group(bundle, group)


def _group(bundle: Bundle, group: Group) -> Iterator[str]:
    times = {
        (arm.layout, arm.column): ratio
        for arm in group.arms
        if (ratio := group.ratio(arm, time_metric(group))) and ratio.interval
    }
    if len(times) < 3:
        return
    moved = _moved(bundle, group)
    pairs = [
        (one, other)
        for one, other in combinations([key for key in times if key in moved], 2)
        if _decided(times[one], times[other])
    ]
    same = [pair for pair in pairs if _sign(moved, *pair) == _measured(times, *pair)]
    other = [pair for pair in pairs if _sign(moved, *pair) == -_measured(times, *pair)]
    tau = (len(same) - len(other)) / max(1, len(pairs))
    yield (
        f"  {engine(group.database).title:<12} {len(times)} layouts, {len(pairs)} decided pairs   τ {tau:.2f}"
        f"   target ≥ {_AT_LEAST:g}: {'met' if tau >= _AT_LEAST else 'NOT met'}"
    )
    for one, two in pairs:
        if (one, two) not in same:
            said = "alike" if (one, two) not in other else "the other way round"
            yield (
                f"    {one[0]} {times[one].median:.2f} and {two[0]} {times[two].median:.2f} × control; advice says "
                f"{said}: {moved[one]:,.0f} and {moved[two]:,.0f} bytes a row"
            )


def _moved(bundle: Bundle, group: Group) -> dict[tuple[str, str], float]:
    on, first = engine(group.database), group.trials[0]
    names = {arm.layout for arm in group.arms}
    asked = needs({**USUAL, "db": group.database, "rows": str(group.rows), "layout": ",".join(sorted(names))})
    profile: Profile = "fast" if bundle.run.profile == "fast" else "durable"
    server = Server(cache_bytes=on.settings(profile, "default").cache_bytes)
    growth = Growth(group.rows, 1000.0, rows_per_tx=first.rows_per_tx)
    found: list[Candidate] = [one for one in candidates(asked, names.__contains__) if one.name in names]
    forecasts = [forecast(ForecastCase(on, one.table(group.payload), one.name, growth, server)) for one in found]
    return {
        (one.candidate.name, one.candidate.column.name): one.moved.value
        for one in judge(list(zip(found, forecasts, strict=True)), asked)
    }


def _decided(one: Summary, other: Summary) -> bool:
    return one.high < other.low or other.high < one.low


def _measured(times: dict[tuple[str, str], Summary], one: tuple[str, str], other: tuple[str, str]) -> int:
    return 1 if times[one].median > times[other].median else -1


def _sign(moved: dict[tuple[str, str], float], one: tuple[str, str], other: tuple[str, str]) -> int:
    """1 if one moves more, −1 if the other does, 0 if they are alike."""
    ratio = moved[one] / moved[other]
    return 0 if max(ratio, 1 / ratio) <= ALIKE else 1 if ratio > 1 else -1
