"""The runs of a site, what its first page shows, and the files that it consists of. All runs pass through a bundle.

So a site holds nothing that a bundle does not hold: nothing private, and no times that a licence forbids to publish.
"""

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from importlib.resources import files
from pathlib import Path
from typing import Final

from keybench.errors import UsageError
from keybench.locked_folder import base_directory, locked_folder
from keybench.model.metric import Metric
from keybench.model.names import CONTROL
from keybench.results.analysis.arms import Arm
from keybench.results.analysis.group_comparison import time_metric
from keybench.results.analysis.groups import Group, splits_inside
from keybench.results.analysis.p_values import ENOUGH_BLOCKS
from keybench.results.analysis.ratios import ByBlock, Summary, by_block_ratios, summarise
from keybench.results.atomic_file import atomic_file
from keybench.results.bundle.private import RESTRICTED, public_blob, public_names, without_times
from keybench.results.bundle.reading import Bundle, read_bundle
from keybench.results.bundle.writing import archive, write_bundle
from keybench.results.plots.canvas import styles
from keybench.results.report.page import fill, render_sources
from keybench.results.report.sentences import finding, repeated
from keybench.results.report.views import Download, GroupView, PageSource, RunView, run_view, value_count
from keybench.results.store.blobs import POSITIONS
from keybench.results.store.database import Store
from keybench.results.store.records import Run
from keybench.results.wording import decimals, number

ValuesOf = Callable[[Group, Arm], ByBlock]
"""What a chapter shows of an arm of a group: a value by block."""


@dataclass(frozen=True)
class SiteRow:
    """One layout's value: as text, with its range, as % of the widest bar, and by block."""

    layout: str
    column: str
    text: str
    span: str
    share: float
    blocks: tuple[str, ...]


@dataclass(frozen=True)
class SiteFigure:
    """One metric on one database in one run."""

    metric: str
    database: str
    product: str
    scenario: str
    run: str
    work: str
    often: str
    modelled: bool
    link: str
    blocks: tuple[int, ...]
    rows: tuple[SiteRow, ...]


@dataclass(frozen=True)
class Chapter:
    """A metric of the site: its name in the address, its title, how an arm's values are found, and all its figures."""

    name: str
    title: str
    unit: str
    about: str
    values: ValuesOf
    figures: tuple[SiteFigure, ...] = ()


def _per_row(metric: Metric) -> ValuesOf:
    """A function that gives an arm's values of the metric, divided by the rows."""
    return lambda group, arm: {block: value / group.rows for block, value in arm.values(metric).items()}


def _ratios(group: Group, arm: Arm, metric: Metric) -> ByBlock:
    """The metric's ratios to the control in the same block."""
    return by_block_ratios(arm.values(metric), group.control.values(metric) if group.control else {})


SHOWN: Final = (
    Chapter("time", "Insert time", "× control", "Time over that of an integer key in the same repetition; lower is "
            "better.", lambda group, arm: _ratios(group, arm, time_metric(group))),
    Chapter("density", "How full the pages are", "%", "Leaf pages of the key's index; higher is better.",
            lambda _, arm: arm.values(Metric.LEAF_DENSITY)),
    Chapter("splits", "Page splits", "per 1,000 rows", "Splits inside the index, which leave both pages partly empty; "
            "lower is better.", lambda group, arm: splits_inside(group, arm)[0]),
    Chapter("size", "Index size", "bytes a row", "The key's index; the table too where it is ordered by the key.",
            _per_row(Metric.INDEX_BYTES)),
    Chapter("log", "Log written", "bytes a row", "What the server writes so that a crash loses nothing.",
            _per_row(Metric.LOG_BYTES)),
    Chapter("order", "Pages out of order", "%", "Leaf pages that do not lie in the file as in the index.",
            lambda _, arm: arm.values(Metric.LEAF_FRAGMENTATION)),
    Chapter("slowest", "Slowest transactions", "× control", "The 99th percentile over that of an integer key.",
            lambda group, arm: _ratios(group, arm, Metric.TX_P99_MS)),
    Chapter("lag", "Inserts that lag", "%", "Inserts of several writers that do not go to the right edge.",
            lambda _, arm: arm.values(Metric.LAGGING_INSERTS)),
)  # fmt: skip
"""Ratios, shares and counts alone: absolute times of some databases must not be published."""


def chapters(runs: Sequence[RunView]) -> list[Chapter]:
    """A chapter for each metric that any run has."""
    views = [(run, view) for run in runs for view in run.groups if not view.group.only_keys]
    with_figures = (
        replace(shown, figures=tuple(figure for run, view in views if (figure := _figure(shown, run, view))))
        for shown in SHOWN
    )
    return [chapter for chapter in with_figures if chapter.figures]


def _figure(chapter: Chapter, run: RunView, view: GroupView) -> SiteFigure | None:
    """The figure of one group of the run; None unless a layout beside the control has values."""
    group = view.ratios  # of its times, ratios alone are shown
    measured = [
        (arm, values, summary)
        for arm in group.arms
        if (values := chapter.values(group, arm)) and (summary := summarise(values.values()))
    ]
    if all(arm.is_control for arm, _, _ in measured):
        return None
    longest = max(summary.high for _, _, summary in measured) or 1.0  # 1: all are 0
    places = min(2, decimals([summary.median for _, _, summary in measured]))
    often = repeated(len(group.blocks)).partition(",")[0]  # without "in shuffled order"
    if chapter.unit == "× control" and len(group.blocks) < ENOUGH_BLOCKS:
        often += ", which proves nothing"
    return SiteFigure(
        metric=chapter.name,
        database=group.database,
        product=" · ".join(filter(None, (view.product, group.column))),
        scenario=run.run.scenario,
        run=run.run.id,
        work=view.work,
        often=often,
        modelled=group.modelled,
        link=f"runs/{run.run.id}/index.html#{view.anchor}",
        blocks=group.blocks,
        rows=tuple(
            SiteRow(
                layout=arm.layout,
                column=arm.column,
                text=number(summary.median, places),
                span=_span(summary, places),
                share=max(0.0, round(100 * summary.median / longest, 1)),  # below zero there is no bar
                blocks=tuple(number(values[b], places + 1) if b in values else "–" for b in group.blocks),
            )
            for arm, values, summary in measured
        ),
    )


def _span(summary: Summary, places: int) -> str:
    """The range as text, `1.08 to 1.16`; empty if both ends would look the same."""
    low, high = number(summary.low, places), number(summary.high, places)
    return "" if low == high else f"{low} to {high}"


SUFFIX = ".zip"
"""By which a file of a bundle is told from a run's id."""


def _file(run: Run) -> str:
    """The name of the run's bundle in a site."""
    return f"keybench-{run.id}{SUFFIX}"


def _source(bundle: Bundle) -> PageSource:
    """What a run's page is made of; of restricted databases, times appear in ratios alone."""
    run, trials = bundle.run, bundle.trials
    restricted = any(trial.database in RESTRICTED for trial in trials)
    return PageSource(
        run,
        trials=without_times(trials),
        environments=bundle.environments,
        warnings=bundle.warnings,
        ratios=trials if restricted else None,
        download=Download(run.id, name=_file(run), href=_file(run), values=value_count(trials)),
    )


def published(names: Sequence[str], results: str, *, small: bool) -> list[Bundle]:
    """The runs of these names, newest first: ids, prefixes and `latest` of the database, or files of bundles.

    With `small`, the data for pictures of pages is left out. Raises UsageError for an unknown run and for a bundle
    that does not fit.
    """
    runs: dict[str, Bundle] = {}
    stored = [name for name in names if not name.endswith(SUFFIX)]
    for name in names:
        if name.endswith(SUFFIX):
            one = read_bundle(Path(name))
            runs.setdefault(one.run.id, one)
    if stored:
        with Store.open(results, write=False) as store, locked_folder(base_directory(), "site") as folder:
            for name in stored:
                one = _from_store(store, name, folder / f"run{SUFFIX}", small=small)
                runs[one.run.id] = one  # replaces a bundle of it, which lacks the data of pictures
    return sorted(runs.values(), key=lambda one: one.run.started, reverse=True)


def _from_store(store: Store, name: str, path: Path, *, small: bool) -> Bundle:
    """A stored run, by way of a bundle at `path`. The data of pictures, which bundles lack, come from the store; with
    `small`, those of positions alone."""
    bundle = read_bundle(write_bundle(store, name, path))
    stored = store.trials(bundle.run.id, blobs=True)
    names = public_names(store.run(name), stored)
    blobs = {
        (trial.block, trial.position): tuple(
            public_blob(blob, names) for blob in trial.blobs if not small or blob.kind == POSITIONS
        )
        for trial in stored
    }
    trials = tuple(replace(trial, blobs=blobs[trial.block, trial.position]) for trial in bundle.trials)
    return replace(bundle, trials=trials)


LIST: Final = "site.json"
"""The file that names a site's runs. A folder that holds it is keybench's own."""
INDEX: Final = "index.html"
FIGURES: Final = "figures.html"
"""The page of all runs and figures if another page is the first one."""


def write_site(runs: Sequence[Bundle], folder: Path, front_html: str = "") -> Path:
    """Writes the site and returns the path of its first page: the list of all runs, or `front_html`, which links to it.

    Runs that an earlier site of the folder held and this one does not are removed; other files stay. Raises UsageError
    if the folder holds other things, or cannot be written.
    """
    earlier_runs = _earlier(folder)
    content: dict[Path, bytes] = {Path(FIGURES if front_html else INDEX): index(runs).encode()}
    if front_html:
        content[Path(INDEX)] = front_html.encode()
    for bundle in runs:
        content[Path("runs") / bundle.run.id / INDEX] = render_sources([_source(bundle)], f"../../{INDEX}").encode()
        # Packed anew: a bundle that was sent in may have held other things, between its files for example.
        content[Path("runs") / bundle.run.id / _file(bundle.run)] = archive(bundle.run.id, bundle.files)
    listing = {"schema": 1, "runs": [bundle.run.id for bundle in runs]}
    content[Path(LIST)] = f"{json.dumps(listing, indent=1)}\n".encode()
    try:
        for name, data in content.items():
            path = folder / name
            path.parent.mkdir(parents=True, exist_ok=True)
            with atomic_file(path, "give -o another folder") as part:
                part.write_bytes(data)
        for run_id in earlier_runs - {bundle.run.id for bundle in runs}:
            _remove(folder / "runs" / run_id)
    except OSError as error:
        raise UsageError(f"{folder} cannot be written ({error.strerror}): give -o another folder.") from None
    return folder / INDEX


def index(runs: Sequence[Bundle]) -> str:
    """The site's first page as text: the runs, and chapters with the figures of all of them."""
    sources = [_source(one) for one in runs]
    layouts = {trial.layout for source in sources for trial in source.trials}
    views = [run_view(source, styles(layouts, CONTROL), "r1") for source in sources]
    shown = chapters(views)
    figures = [figure for chapter in shown for figure in chapter.figures]
    here = files("keybench.results.site") / "template"
    return fill(
        here / "site.html.jinja",
        here / "site.js",
        runs=[
            (view, finding([group.answer for group in view.groups]), _file(one.run))
            for view, one in zip(views, runs, strict=True)
        ],
        chapters=shown,
        choices={
            "database": sorted({figure.database for figure in figures}),
            "layout": sorted({row.layout for figure in figures for row in figure.rows}),
            "scenario": sorted({figure.scenario for figure in figures}),
        },
        control=CONTROL,
    )


def _earlier(folder: Path) -> set[str]:
    """The runs of the site that is in the folder. Raises UsageError if the folder is something else."""
    try:
        if not folder.exists() or not any(folder.iterdir()):
            return set()
        listing = json.loads((folder / LIST).read_text(encoding="utf-8"))
        return {name for name in listing["runs"] if isinstance(name, str) and name.isalnum()}
    except NotADirectoryError:
        raise UsageError(f"{folder} is a file: give -o a folder.") from None
    except (OSError, ValueError, KeyError, TypeError):
        raise UsageError(f"{folder} is not empty and holds no site of keybench: give -o a new folder.") from None


def _remove(folder: Path) -> None:
    """Removes a run's folder, and in it only what a site writes."""
    for path in (folder / INDEX, *folder.glob("keybench-*.zip")):
        path.unlink(missing_ok=True)
    if folder.exists() and not any(folder.iterdir()):
        folder.rmdir()
