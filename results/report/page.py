"""A report: one HTML page that holds everything it needs."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from importlib.resources import files
from pathlib import Path

from jinja2 import Environment as Templates
from jinja2 import StrictUndefined
from markupsafe import Markup

import keybench
from keybench.errors import UsageError
from keybench.results.drawing import Style, drawing, styles
from keybench.results.metrics import DEFINITIONS, Definition, Metric
from keybench.results.report.fidelity import Fidelity, fidelity
from keybench.results.report.figure import Figure
from keybench.results.report.figures import figures, overview
from keybench.results.report.groups import CONTROL, Arm, Group, group_trials, incomplete
from keybench.results.report.listing import Listing, good_of_all, listings
from keybench.results.report.verdict import verdict
from keybench.results.report.wording import ARROWS, BETTER, plural, size
from keybench.results.store import Environment, Run, Store, Trial

_NO_PUBLISHING = {"mssql": "SQL Server", "oracle": "Oracle Database"}
"""Products whose licences restrict publishing benchmark results."""

_IN_BULK = "; loaded in bulk, which sorts: splits are not those of rows in order of arrival"


@dataclass(frozen=True)
class GroupView:
    """A group as the template shows it."""

    group: Group
    anchor: str
    verdict: list[str]
    figures: list[Figure]
    listings: list[Listing]
    notes: list[str]
    fidelity: list[Fidelity]
    good: list[str]

    @property
    def title(self) -> str:
        """Database and server kind, and what tells this group from others of its run."""
        if self.group.only_keys:
            return f"keys alone · {self.group.server}"
        column = f" · {self.group.column}" if self.group.column else ""
        return f"{self.group.database} · {self.group.server}{column}"

    @property
    def work(self) -> str:
        """The work of one trial in a line."""
        group = self.group
        trial = group.trials[0]
        if group.only_keys:
            return (
                f"{plural(group.rows, 'key')} made by {plural(trial.writers, 'thread')} and put nowhere, "
                f"{plural(len(group.blocks), 'block')}"
            )
        columns = sorted({arm.column for arm in group.others})
        keys = f", keys in a {columns[0]} column" if len(columns) == 1 else ""
        return (
            f"{plural(group.rows, 'row')} with {plural(group.payload, 'character')} beside the key{keys}, "
            f"{plural(trial.writers, 'writer')}, {plural(trial.rows_per_tx, 'row')} a transaction, "
            f"{plural(len(group.blocks), 'block')}{_IN_BULK if group.in_bulk else ''}"
        )

    @property
    def failures(self) -> list[tuple[Arm, str, list[int]]]:
        """Each arm's errors, one entry for each different error with the blocks that ended so."""
        found: dict[tuple[Arm, str], list[int]] = {}
        for arm in self.group.arms:
            for trial in arm.failed:
                found.setdefault((arm, trial.error), []).append(trial.block)
        return [(arm, error, blocks) for (arm, error), blocks in found.items()]

    @property
    def licence(self) -> str:
        """The product whose licence restricts publishing, if so."""
        return "" if self.group.modelled else _NO_PUBLISHING.get(self.group.database, "")


@dataclass(frozen=True)
class ServerView:
    """An environment with its cache beside the largest index of the run."""

    environment: Environment
    cache: str
    against: str


@dataclass(frozen=True)
class RunView:
    """A run as the template shows it."""

    run: Run
    groups: list[GroupView]
    overview: list[Figure]
    """Figures of all groups together."""
    servers: list[ServerView]
    warnings: list[str]
    incomplete: str

    @property
    def title(self) -> str:
        """What the scenario says of itself."""
        scenario = self.run.definition.get("scenario")
        return str(scenario.get("title", "")) if isinstance(scenario, dict) else ""

    @property
    def failed(self) -> int:
        """How many trials failed."""
        return len({(t.block, t.position) for t in self._all if t.status == "error"})

    @property
    def trials(self) -> int:
        """How many trials are recorded."""
        return len({(t.block, t.position) for t in self._all})

    @property
    def _all(self) -> list[Trial]:
        return [trial for view in self.groups for trial in view.group.trials]

    @property
    def machine(self) -> list[tuple[str, str]]:
        """Names and values, numbers of bytes made readable."""
        return [
            (name.removesuffix("_bytes").replace("_", " "), _readable(name, value))
            for name, value in self.run.machine.items()
        ]


def write_report(store: Store, run_ids: Sequence[str], path: Path) -> Path:
    """Writes one page on these runs (ids, prefixes or `latest`) and gives its path back.

    Raises UsageError where a run is unknown or the file cannot be written; the file appears whole or not at all.
    """
    page = render(store, run_ids)
    part = path.with_name(f".{path.name}.{os.getpid()}.part")
    try:
        part.write_text(page, encoding="utf-8")
        part.replace(path)
    except OSError as error:
        part.unlink(missing_ok=True)
        raise UsageError(f"{path} cannot be written ({error.strerror}): give -o another file.") from None
    return path


def render(store: Store, run_ids: Sequence[str]) -> str:
    """The page as text."""
    runs = list({run.id: run for run in map(store.run, run_ids)}.values())
    trials = {run.id: store.trials(run.id, blobs=True) for run in runs}
    looks = styles((trial.layout for part in trials.values() for trial in part), CONTROL)
    with drawing():
        views = [_run(store, run, trials[run.id], looks, f"r{number}") for number, run in enumerate(runs, start=1)]
    here = files("keybench.results.report")
    templates = Templates(autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True)
    templates.filters["options"] = _options
    return templates.from_string(here.joinpath("report.html.jinja").read_text(encoding="utf-8")).render(
        css=Markup(here.joinpath("report.css").read_text(encoding="utf-8")),  # noqa: S704 (our own file)
        picture=Markup,
        runs=views,
        definitions=_definitions(views),
        arrows=ARROWS,
        better=BETTER,
        control=CONTROL,
        keybench=keybench.__version__,
        now=datetime.now(UTC),
    )


def _options(text: str) -> Markup:
    """Text in which options, as in `--blocks 6`, are set as code and not broken."""
    parts = re.split(r"(--[a-z]+(?:-[a-z]+)*(?: (?:\d+|[0-9a-f]{8,}))?)", text)
    return Markup("").join(Markup("<code>{}</code>").format(part) if i % 2 else part for i, part in enumerate(parts))


def _run(store: Store, run: Run, trials: Sequence[Trial], looks: dict[str, Style], prefix: str) -> RunView:
    environments = store.environments(run.id)
    groups = group_trials(run, trials, environments)
    views = []
    for number, group in enumerate(groups, start=1):
        anchor = f"{prefix}g{number}"
        tables, notes = listings(group)
        drawn = figures(group, looks, anchor)
        views.append(
            GroupView(group, anchor, verdict(group), drawn, tables, notes, fidelity(group), good_of_all(group))
        )
    servers = [_server(environment, groups) for environment in environments]
    side_by_side = overview(groups, looks, prefix)
    return RunView(run, views, side_by_side, servers, store.warnings(run.id), incomplete(run, trials))


def _server(environment: Environment, groups: Sequence[Group]) -> ServerView:
    sizes = [
        summary.high
        for group in groups
        if group.environment == environment
        for _, summary in group.values(Metric.INDEX_BYTES)
    ]
    cache = size(environment.cache_bytes) if environment.cache_bytes > 0 else "unknown"
    if not sizes:
        return ServerView(environment, cache, "no index was measured")
    largest = max(sizes)
    times = f", {largest / environment.cache_bytes:.2f} times the cache" if environment.cache_bytes > 0 else ""
    return ServerView(environment, cache, f"largest index of a key {size(largest)}{times}")


def _definitions(views: Sequence[RunView]) -> list[Definition]:
    """Of the metrics that the page shows."""
    arms = [arm for run in views for view in run.groups for arm in view.group.arms]
    return [DEFINITIONS[metric] for metric in Metric if any(arm.mentions(metric) for arm in arms)]


def _readable(name: str, value: object) -> str:
    if name.endswith("_bytes") and isinstance(value, int | float):
        return size(value)
    return str(value)
