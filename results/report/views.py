"""The objects that the template shows: a run with its groups, servers, warnings and data."""

from __future__ import annotations

import gzip
import re
from base64 import b64encode
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
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
from keybench.results.report.figures import group_figures, run_figures
from keybench.results.report.figures.figure import ReportFigure
from keybench.results.report.first_screen import LayoutTable, layout_table
from keybench.results.report.sentences import GroupAnswer, headline, on_pages, repeated, what_ran
from keybench.results.report.tables import (
    Fidelity,
    MetricTable,
    SubjectTable,
    column_table,
    fidelity,
    metric_tables,
    phase_table,
    writer_table,
)
from keybench.results.store.database import Store
from keybench.results.store.records import Environment, Run, Trial
from keybench.results.wording import csv_text, plural, size

_FILE: Final = re.compile(r'File "([^"\n]*)"')
_PACKAGE: Final = re.compile(r"(?:.*[/\\])?((?:keybench|site-packages|python3\.\d+)[/\\].*)")
"""A path in keybench, in an installed package or in the standard library; greedy, so that the last folder counts."""
_HOME: Final = re.compile(r"(?<![\w.])(?:(?:/home|/Users)/[^/\s\"':]+|/root|[A-Za-z]:\\Users\\[^\\\s\"':]+)(?![\w.-])")
_PASSWORD: Final = re.compile(r"(?i)(\w://[^\s:/?#@\"']*:)[^\s\"']*(?=@)|(password=)[^\s&,)\"']+")
"""A password in a URL; errors are redacted before they are stored, so this is a second barrier."""


@dataclass(frozen=True)
class Failure:
    """An error, the arms that it ended with their blocks, and its traceback; the latter is empty if it was expected."""

    arms: tuple[str, ...]
    error: str
    traceback: str


def failures(groups: Sequence[Group]) -> list[Failure]:
    """Everything that failed. A successful trial can have a traceback too: that of a prediction that failed."""
    arms: dict[tuple[str, str], dict[str, list[int]]] = defaultdict(lambda: defaultdict(list))
    for group in groups:
        size = f" · {group.run.characters(group.payload)}" if group.payload != 100 else ""
        for arm in group.arms:
            for trial in arm.trials:
                if trial.status == "error" or trial.traceback:
                    error = trial.error or "The page model's prediction failed."
                    by_arm = arms[error, private_parts_removed(trial.traceback)]
                    blocks = by_arm[f"{group.database} · {arm.name}{size}"]
                    if trial.block not in blocks:  # the control is in several groups
                        blocks.append(trial.block)
    return [
        Failure(
            arms=tuple(
                f"{arm}, block{'' if len(blocks) == 1 else 's'} {', '.join(map(str, blocks))}"
                for arm, blocks in blocks_by_arm.items()
            ),
            error=error,
            traceback=traceback,
        )
        for (error, traceback), blocks_by_arm in arms.items()
    ]


def private_parts_removed(traceback: str) -> str:
    """The traceback with short paths, `~` for home directories, and without passwords in URLs."""
    if not traceback:
        return ""
    text = _FILE.sub(lambda match: f'File "{_short(match[1])}"', traceback)
    return _PASSWORD.sub(lambda match: f"{match[1] or match[2]}…", _HOME.sub("~", text)).strip("\n")


def _short(path: str) -> str:
    """The path from its package or the library on; else the file name."""
    inside = _PACKAGE.fullmatch(path)
    return inside[1] if inside else re.split(r"[/\\]", path)[-1]


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
    on_pages: list[str]
    figures: list[ReportFigure]
    tables: list[MetricTable]
    writers: SubjectTable | None
    phases: SubjectTable | None
    notes: list[str]
    fidelity: list[Fidelity]
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
        size = f" with {group.run.characters(group.payload)} beside the key" if group.payload != 100 else ""
        size += f" with {plural(group.writers, 'writer')}" if group.run.several_writers else ""
        on = f"By the page model of {self.product}" if group.modelled else f"On {self.product}"
        subject = f"Making keys ({group.server})" if group.only_keys else f"{on}{column}{size}"
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
        """The scenario's name and title, and what this run has in place of its rows and blocks."""
        scenario = self.run.part("scenario")
        title = str(scenario.get("title") or "")
        named = f"{self.run.scenario} ({title})" if title else self.run.scenario
        rows, blocks = scenario.get("rows"), scenario.get("blocks")
        ran = sorted({view.group.rows for view in self.groups})
        changes = [plural(ran[-1], "row")] if isinstance(rows, int) and ran and set(ran) != {rows} else []
        if isinstance(blocks, int) and blocks != self.run.blocks:
            changes.append(repeated(self.run.blocks).partition(",")[0])
        return f"{named}; here {', '.join(changes)}" if changes else named

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
    """All about one run."""
    run, trials, environments = source.run, source.trials, source.environments
    groups = group_trials(run, trials, environments)
    ratios = groups if source.ratios is None else group_trials(run, source.ratios, environments)
    both = enumerate(zip(groups, ratios, strict=True), start=1)
    return RunView(
        run=run,
        anchor=anchor,
        groups=[_group(group, of_ratios, styles, f"{anchor}g{number}") for number, (group, of_ratios) in both],
        figures=run_figures(groups, styles, anchor),
        servers=[_server(environment, groups) for environment in environments],
        warnings=list(dict.fromkeys([*warnings(run, trials, environments), *source.warnings])),
        incomplete=incomplete(run, trials),
        download=source.download or download(run, trials),
        trials=len(trials),
        failed=sum(trial.status == "error" for trial in trials),
        failures=failures(groups),
    )


def version(group: Group) -> str:
    """The server's version number; empty if unknown."""
    versions = group.environment.versions if group.environment else {}
    text = next((text for name, text in versions.items() if name.casefold() == group.database), "")
    match = re.match(r"\d+(?:\.\d+)*", text)
    return match[0] if match else ""


def _group(group: Group, ratios: Group, styles: Mapping[str, Style], anchor: str) -> GroupView:
    """All about one group; `ratios` is the group whose times may be shown as ratios, mostly the same."""
    judgement = judge(ratios)
    tables, notes = metric_tables(group, judgement if ratios is group else None)
    columns = column_table(group)
    return GroupView(
        group=group,
        ratios=ratios,
        anchor=anchor,
        judgement=judgement,
        layouts=layout_table(ratios, judgement),
        on_pages=on_pages(group),
        figures=group_figures(group, styles, anchor),
        tables=[*tables, columns] if columns else tables,
        writers=writer_table(group),
        phases=phase_table(group),
        notes=notes,
        fidelity=fidelity(group),
        successful=[f"{len(arm.trials) - len(arm.failed)} of {len(arm.trials)}" for arm in group.arms],
    )


def _server(environment: Environment, groups: Sequence[Group]) -> ServerView:
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
    times = f", {largest / environment.cache_bytes:.2f} times the cache" if environment.cache_bytes > 0 else ""
    return ServerView(environment, cache, f"largest key index {size(largest)}{times}")


MOST_VALUES: Final = 20_000
"""A run with more values gets no link: exporting them takes as long as drawing the page."""

_MOST_PLAIN: Final = 250_000
"""Characters of a link; a longer table is compressed."""

_MOST_COMPRESSED: Final = 1_000_000
"""Characters of a compressed link; a longer one is left out, because browsers refuse very long links."""


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

    @property
    def form(self) -> str:
        """What the file is, in words."""
        if self.name.endswith(".zip"):
            return "CSV in a ZIP file"
        return "compressed CSV" if self.name.endswith(".gz") else "CSV"


def download(run: Run, trials: Sequence[Trial]) -> Download:
    """The run's link: a CSV file, compressed if it is long."""
    without_link = Download(run.id, name=f"keybench-{run.id}.csv", href="", values=value_count(trials))
    if not 0 < without_link.values <= MOST_VALUES:
        return without_link
    text = csv_text(list(tidy.values(run.id, trials, run.load_path)))
    plain = "data:text/csv;charset=utf-8," + quote(text) if len(text) <= _MOST_PLAIN else ""
    if plain and len(plain) <= _MOST_PLAIN:
        return replace(without_link, href=plain)
    compressed = b64encode(gzip.compress(text.encode("utf-8"), mtime=0)).decode("ascii")
    if len(compressed) > _MOST_COMPRESSED:
        return without_link
    return replace(without_link, name=f"{without_link.name}.gz", href=f"data:application/gzip;base64,{compressed}")


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


def stored(store: Store, name: str) -> PageSource:
    """The run with this id, prefix of it, or `latest`; UsageError if there is none."""
    run = store.run(name)
    return PageSource(run, store.trials(run.id, blobs=True), store.environments(run.id), store.warnings(run.id))
