"""The objects that the template shows: a run with its groups, servers, warnings and data."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Final
from urllib.parse import quote

from keybench.model.metric import Metric
from keybench.results import tidy
from keybench.results.analysis.group_comparison import Judgement, judge
from keybench.results.analysis.groups import Group, group_trials, incomplete
from keybench.results.analysis.warnings import warnings
from keybench.results.bundle.private import RESTRICTED
from keybench.results.plots.canvas import Style
from keybench.results.report.figures import group_figures
from keybench.results.report.figures.figure import ReportFigure
from keybench.results.report.figures.saturation import saturation
from keybench.results.report.first_screen import LayoutTable, layout_table
from keybench.results.report.sentences import GroupAnswer, headline, what_ran
from keybench.results.report.tables import MetricTable, SubjectTable, column_table, metric_tables, subject_tables
from keybench.results.store.database import Store
from keybench.results.store.records import Environment, Run, Trial
from keybench.results.wording import csv_text, plural, size


@dataclass(frozen=True)
class Failure:
    """An error, and the arms that it ended, each with its blocks."""

    arms: tuple[str, ...]
    error: str


def failures(groups: Sequence[Group]) -> list[Failure]:
    """Each error with the arms and blocks that it ended. A good trial with a traceback lacks its model's prediction."""
    blocks_by_arm: dict[str, dict[str, list[int]]] = defaultdict(lambda: defaultdict(list))
    for group in groups:
        payload = f" · {group.run.characters(group.payload)}" if group.payload != 100 else ""  # 100 is the usual one
        for arm in group.arms:
            for trial in arm.trials:
                if trial.status == "error" or trial.traceback:
                    error = trial.error or "The page model's prediction failed."
                    blocks = blocks_by_arm[error][f"{group.database} · {arm.name}{payload}"]
                    if trial.block not in blocks:  # the control is in several groups
                        blocks.append(trial.block)
    return [
        Failure(
            arms=tuple(
                f"{arm}, block{'' if len(blocks) == 1 else 's'} {', '.join(map(str, blocks))}"
                for arm, blocks in by_arm.items()
            ),
            error=error,
        )
        for error, by_arm in blocks_by_arm.items()
    ]


@dataclass(frozen=True)
class GroupView:
    """A group as the template shows it."""

    group: Group
    ratios: Group
    """The group from which ratios of times come: the same, unless a licence forbids to publish its times."""
    anchor: str
    judgement: Judgement | None
    layouts: LayoutTable | None
    """The table of the first screen."""
    figures: list[ReportFigure]
    tables: list[MetricTable]
    subjects: list[SubjectTable]
    notes: list[str]
    successful: list[str]
    """For each arm how many of its trials succeeded: `3 of 3`."""

    @property
    def title(self) -> str:
        """Database and server kind, with the column where it distinguishes groups of the run."""
        if self.group.only_keys:
            return f"keys alone · {self.group.server}"
        column = f" · {self.group.column}" if self.group.column else ""
        return f"{self.group.database} · {self.group.server}{column}"

    @property
    def product(self) -> str:
        """The product with its version: `PostgreSQL 18.4`."""
        return " ".join(filter(None, (self.group.run.title(self.group.database), version(self.group))))

    @property
    def answer(self) -> GroupAnswer:
        """The finding, in one sentence."""
        group = self.group
        column = f" with keys in {group.column.removesuffix(' columns')} columns" if group.column else ""
        work = f" with {group.run.characters(group.payload)} beside the key" if group.payload != 100 else ""
        work += f" with {plural(group.writers, 'writer')}" if group.run.several_writers else ""
        on = f"By the page model of {self.product}" if group.modelled else f"On {self.product}"
        subject = f"Making keys ({group.server})" if group.only_keys else f"{on}{column}{work}"
        return GroupAnswer(self.ratios, self.judgement, self.product, headline(self.ratios, self.judgement, subject))

    @property
    def work(self) -> str:
        """The work of one trial in one line."""
        group = self.group
        trial = group.trials[0]
        if group.only_keys:
            return (
                f"{plural(group.rows, 'key')} made by {plural(trial.writers, 'thread')} and not inserted, "
                f"{plural(len(group.blocks), 'block')}"
            )
        columns = sorted({arm.column for arm in group.treatments})
        keys = f", keys in a {columns[0]} column" if len(columns) == 1 else ""
        return (
            f"{plural(group.rows, 'row')} with {group.run.characters(group.payload)} beside the key{keys}, "
            f"{plural(trial.writers, 'writer')}, {plural(trial.rows_per_tx, 'row')} a transaction, "
            f"{plural(len(group.blocks), 'block')}{group.load_path.label}"
        )

    @property
    def licence(self) -> str:
        """The product if its licence restricts publishing; else empty."""
        return "" if self.group.modelled else RESTRICTED.get(self.group.database, "")


@dataclass(frozen=True)
class ServerView:
    """An environment, and its cache compared with the indexes."""

    environment: Environment
    cache: str
    against: str


@dataclass(frozen=True)
class RunView:
    """A run as the template shows it."""

    run: Run
    anchor: str
    groups: list[GroupView]
    figures: list[ReportFigure]
    """Figures that compare the groups."""
    servers: list[ServerView]
    warnings: list[str]
    incomplete: str
    download: Download
    trials: int
    failed: int
    failures: list[Failure]

    @property
    def ran(self) -> str:
        """What was run, in one sentence."""
        return what_ran(self.run, [view.group for view in self.groups], [view.product for view in self.groups])

    @property
    def scenario(self) -> str:
        """The scenario's name and title."""
        title = self.run.part("scenario").get("title")
        return f"{self.run.scenario} ({title})" if title else self.run.scenario

    @property
    def warnings_in_short(self) -> str:
        """What the warnings are about: the beginning of each, up to three."""
        texts = [*([self.incomplete] if self.incomplete else []), *self.warnings]
        # each up to its first mark after 24 characters: an earlier mark ends a database's name
        clauses = [re.split(r"(?<=.{24})[:;,.] |\.$", text, maxsplit=1)[0] for text in texts]
        return "; ".join(clauses[:3]) + (f"; and {len(clauses) - 3} more" if len(clauses) > 3 else "")

    @cached_property
    def machine(self) -> list[tuple[str, str]]:
        """Names and values, with byte counts in readable units."""
        return [
            (
                name.removesuffix("_bytes").replace("_", " "),
                size(value) if name.endswith("_bytes") and isinstance(value, int | float) else str(value),
            )
            for name, value in self.run.machine.items()
        ]


def run_view(source: PageSource, styles: Mapping[str, Style], anchor: str) -> RunView:
    """All that the template shows of one run; `anchor` is its id on the page."""
    run, trials, environments = source.run, source.trials, source.environments
    groups = group_trials(run, trials, environments)
    ratios = groups if source.ratios is None else group_trials(run, source.ratios, environments)
    numbered = enumerate(zip(groups, ratios, strict=True), start=1)
    return RunView(
        run=run,
        anchor=anchor,
        groups=[_group_view(group, of_ratios, styles, f"{anchor}g{number}") for number, (group, of_ratios) in numbered],
        figures=saturation(groups, styles, f"{anchor}-saturation"),
        servers=[_server_view(environment, groups) for environment in environments],
        warnings=list(dict.fromkeys([*warnings(run, trials, environments), *source.warnings])),
        incomplete=incomplete(run, trials),
        download=source.download or download(run, trials),
        trials=len(trials),
        failed=sum(trial.status == "error" for trial in trials),
        failures=failures(groups),
    )


def version(group: Group) -> str:
    """The engine's version as numbers: `18.4`; empty if unknown."""
    versions = group.environment.versions if group.environment else {}
    text = next((text for name, text in versions.items() if name.casefold() == group.database), "")
    match = re.match(r"\d+(?:\.\d+)*", text)
    return match[0] if match else ""


def _group_view(group: Group, ratios: Group, styles: Mapping[str, Style], anchor: str) -> GroupView:
    """All that the template shows of one group; `ratios`: the same group, with the times that may be shown as
    ratios; mostly `group` itself."""
    judgement = judge(ratios)
    tables, notes = metric_tables(group, judgement if ratios is group else None)
    columns = column_table(group)
    return GroupView(
        group=group,
        ratios=ratios,
        anchor=anchor,
        judgement=judgement,
        layouts=layout_table(ratios, judgement),
        figures=group_figures(group, styles, anchor),
        tables=[*tables, columns] if columns else tables,
        subjects=subject_tables(group),
        notes=notes,
        successful=[f"{len(arm.trials) - len(arm.failed)} of {len(arm.trials)}" for arm in group.arms],
    )


def _server_view(environment: Environment, groups: Sequence[Group]) -> ServerView:
    """The server, with the largest key index of its groups against its cache."""
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
    over_cache = f", {largest / environment.cache_bytes:.2f} times the cache" if environment.cache_bytes > 0 else ""
    return ServerView(environment, cache, f"largest key index {size(largest)}{over_cache}")


MOST_VALUES: Final = 5_000
"""A run with more values gets no link: the values would make the page larger than its pictures do."""


@dataclass(frozen=True)
class Download:
    """A run's values as one file; `href` is empty if there are too many."""

    run_id: str
    name: str
    href: str
    values: int

    @property
    def command(self) -> str:
        """The command that exports them in any case."""
        return f"keybench export {self.run_id} -o {self.run_id}.csv"


def download(run: Run, trials: Sequence[Trial]) -> Download:
    """The run's values as a CSV file inside the page."""
    count = value_count(trials)
    href = ""
    if 0 < count <= MOST_VALUES:
        text = csv_text(list(tidy.values(run.id, trials, run.load_path)))
        href = "data:text/csv;charset=utf-8," + quote(text, safe=",:/")
    return Download(run.id, name=f"keybench-{run.id}.csv", href=href, values=count)


def value_count(trials: Sequence[Trial]) -> int:
    """The rows of these trials in an export: one a value, and one for a failed trial."""
    return sum(len(trial.readings) or 1 for trial in trials)


@dataclass(frozen=True)
class PageSource:
    """A run with all that its page shows."""

    run: Run
    trials: Sequence[Trial]
    environments: Sequence[Environment]
    warnings: Sequence[str]
    ratios: Sequence[Trial] | None = None
    """The trials whose times give ratios, where `trials` have no times because a licence forbids to publish them."""
    download: Download | None = None
    """Where the values are; None puts them into the page."""


def page_source(store: Store, name: str) -> PageSource:
    """The run with this id, prefix of it, or `latest`; UsageError if there is none."""
    run = store.run(name)
    return PageSource(run, store.trials(run.id, blobs=True), store.environments(run.id), store.warnings(run.id))
