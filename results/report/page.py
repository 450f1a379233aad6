"""A report: one self-contained HTML page."""

from __future__ import annotations

import re
from base64 import b64encode
from collections.abc import Sequence
from datetime import UTC, datetime
from hashlib import sha256
from importlib.resources import files
from pathlib import Path
from typing import Final

from jinja2 import Environment as Templates
from jinja2 import StrictUndefined
from markupsafe import Markup

import keybench
from keybench.errors import UsageError
from keybench.model.definition import Definition
from keybench.model.metric import Metric
from keybench.model.names import CONTROL
from keybench.results.analysis.p_values import ALPHA, ENOUGH_BLOCKS
from keybench.results.analysis.verdict import MARGIN
from keybench.results.atomic_file import atomic_file
from keybench.results.plots.canvas import drawing
from keybench.results.plots.palette import styles
from keybench.results.report.answer.finding import finding, leading
from keybench.results.report.answer.pictures import pictures
from keybench.results.report.claims_section import claims_section
from keybench.results.report.glance import glance
from keybench.results.report.views import RunView, run_view
from keybench.results.store.database import Store
from keybench.results.wording import ARROWS, BETTER

_MOST_ANSWERS: Final = 6
"""Sentences on the first screen, one for each database."""


def write_report(store: Store, run_ids: Sequence[str], path: Path) -> Path:
    """Writes one page about these runs (ids, prefixes or `latest`) and returns its path.

    The file is written atomically. Raises UsageError if a run is unknown or the file cannot be written.
    """
    page = render(store, run_ids)
    try:
        with atomic_file(path) as part:
            part.write_text(page, encoding="utf-8")
    except OSError as error:
        raise UsageError(f"{path} cannot be written ({error.strerror}): give -o another file.") from None
    return path


def render(store: Store, run_ids: Sequence[str]) -> str:
    """The page as text."""
    runs = list({run.id: run for run in map(store.run, run_ids)}.values())
    trials = {run.id: store.trials(run.id, blobs=True) for run in runs}
    layout_styles = styles((trial.layout for part in trials.values() for trial in part), CONTROL)
    with drawing():
        views = [
            run_view(store, run, trials[run.id], layout_styles, f"r{number}")
            for number, run in enumerate(runs, start=1)
        ]
        groups = [view for run in views for view in run.groups]
        answers = [view.answer for view in groups]
        first = leading(answers)
        shown = pictures([view.group for view in (*groups[first:], *groups[:first])], layout_styles)
    here = files("keybench.results.report") / "template"
    css, script = (here.joinpath(name).read_text(encoding="utf-8") for name in ("report.css", "report.js"))
    templates = Templates(autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True)
    templates.filters["options"] = _options
    templates.filters["code"] = _code
    return templates.from_string(here.joinpath("report.html.jinja").read_text(encoding="utf-8")).render(
        css=Markup(css),  # noqa: S704 (our own file)
        script=Markup(script),  # noqa: S704 (our own file)
        script_hash=_hash(script),
        picture=Markup,
        runs=views,
        finding=finding(answers),
        answers=[(view, answer.sentence) for view, answer in zip(groups, answers, strict=True)],
        leading=groups[first] if groups else None,
        pictures=shown,
        panels=len(groups),
        most_answers=_MOST_ANSWERS,
        lines=glance(views),
        claims=claims_section(runs, trials, {run.id: store.environments(run.id) for run in runs}),
        definitions=_definitions(views),
        arrows=ARROWS,
        better=BETTER,
        control=CONTROL,
        alpha=f"{ALPHA:.0%}".replace("%", "\u00a0%"),
        margin=f"{MARGIN:.0%}".replace("%", "\u00a0%"),
        enough=ENOUGH_BLOCKS,
        keybench=keybench.__version__,
        now=datetime.now(UTC),
    )


def _hash(script: str) -> str:
    """The hash that lets the page's content security policy run this script and no other."""
    return f"sha256-{b64encode(sha256(script.encode()).digest()).decode('ascii')}"


def _options(text: str) -> Markup:
    """The text with options such as `--blocks 6` as code, so that they are not broken across lines."""
    parts = re.split(
        r"(--scenario [a-z0-9-]+[a-z0-9]|--column suited|--[a-z]+(?:-[a-z]+)*(?: (?:\d+|[0-9a-f]{8,}))?)", text
    )
    return Markup("").join(Markup("<code>{}</code>").format(part) if i % 2 else part for i, part in enumerate(parts))


def _code(text: str) -> Markup:
    """The text with what is in backquotes as code."""
    parts = text.split("`")
    return Markup("").join(Markup("<code>{}</code>").format(part) if i % 2 else part for i, part in enumerate(parts))


def _definitions(views: Sequence[RunView]) -> list[Definition]:
    """Definitions of the metrics that the page shows."""
    arms = [arm for run in views for view in run.groups for arm in view.group.arms]
    return [metric.definition for metric in Metric if any(arm.mentions(metric) for arm in arms)]
