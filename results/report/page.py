"""A report: one self-contained HTML page."""

import re
from base64 import b64encode
from collections.abc import Sequence
from datetime import UTC, datetime
from hashlib import sha256
from importlib.resources import files
from importlib.resources.abc import Traversable
from itertools import groupby
from pathlib import Path
from typing import Final

from jinja2 import Environment as Templates
from jinja2 import StrictUndefined
from markupsafe import Markup

import keybench
from keybench.model.metric import Metric
from keybench.model.names import CONTROL
from keybench.results.analysis.p_values import ALPHA, ENOUGH_BLOCKS
from keybench.results.analysis.ratios import MARGIN
from keybench.results.atomic_file import atomic_file
from keybench.results.claims.answers import answers
from keybench.results.claims.estimate import groups_to_ask
from keybench.results.plots.canvas import styles
from keybench.results.report.first_screen import pictures
from keybench.results.report.sentences import finding, leading
from keybench.results.report.views import PageSource, page_source, run_view
from keybench.results.store.database import Store
from keybench.results.wording import ARROWS, BETTER

_MOST_ANSWERS: Final = 6
"""Sentences on the first screen, one for each database."""


def write_report(store: Store, run_ids: Sequence[str], path: Path) -> Path:
    """Writes one page about these runs (ids, prefixes or `latest`), atomically, and returns its path. Raises UsageError
    if a run is unknown or the file cannot be written."""
    page = render(store, run_ids)
    with atomic_file(path) as part:
        part.write_text(page, encoding="utf-8")
    return path


def render(store: Store, run_ids: Sequence[str]) -> str:
    """The page as text."""
    ids = dict.fromkeys(run.id for run in map(store.run, run_ids))
    return render_sources([page_source(store, run_id) for run_id in ids])


def render_sources(sources: Sequence[PageSource], home: str = "") -> str:
    """The page about these runs as text; `home` is the address of the page that links to it."""
    layout_styles = styles((trial.layout for source in sources for trial in source.trials), CONTROL)
    run_views = [run_view(source, layout_styles, f"r{number}") for number, source in enumerate(sources, start=1)]
    group_views = [view for run in run_views for view in run.groups]
    arms = [arm for view in group_views for arm in view.group.arms]
    group_answers = [view.answer for view in group_views]
    first = leading(group_answers)  # its group comes first in the pictures
    return fill(
        files("keybench.results.report") / "template" / "report.html.jinja",
        files("keybench.results.report") / "template" / "report.js",
        picture=Markup,
        home=home,
        runs=run_views,
        finding=finding(group_answers),
        answers=[(view, answer.sentence) for view, answer in zip(group_views, group_answers, strict=True)],
        leading=group_views[first] if group_views else None,
        pictures=pictures([view.ratios for view in (*group_views[first:], *group_views[:first])], layout_styles),
        panels=len(group_views),
        most_answers=_MOST_ANSWERS,
        claims=_claims(sources),
        definitions=[metric.definition for metric in Metric if any(arm.mentions(metric) for arm in arms)],
        arrows=ARROWS,
        better=BETTER,
        control=CONTROL,
        alpha=f"{ALPHA:.0%}".replace("%", "\u00a0%"),
        margin=f"{MARGIN:.0%}".replace("%", "\u00a0%"),
        enough=ENOUGH_BLOCKS,
    )


def fill(template: Traversable, script: Traversable | None = None, **values: object) -> str:
    """The page of a template with these values, with the style of reports and the script, the only one that it runs."""
    css = (files("keybench.results.report") / "template" / "report.css").read_text(encoding="utf-8")
    code = script.read_text(encoding="utf-8") if script else ""
    templates = Templates(autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True)
    templates.filters["options"] = _options
    templates.filters["code"] = _code
    return templates.from_string(template.read_text(encoding="utf-8")).render(
        css=Markup(css),  # noqa: S704 (our own file)
        script=Markup(code),  # noqa: S704 (our own file)
        # The content security policy lets the page run this script and no other.
        script_hash=f"sha256-{b64encode(sha256(code.encode()).digest()).decode('ascii')}",
        keybench=keybench.__version__,
        now=datetime.now(UTC),
        **values,
    )


def _options(text: str) -> Markup:
    """The text with options such as `--blocks 6` as code, so that lines do not end inside them."""
    parts = re.split(
        r"(--scenario [a-z0-9-]+[a-z0-9]|--column suited|--[a-z]+(?:-[a-z]+)*(?: (?:\d+|[0-9a-f]{8,}))?)", text
    )
    return _coded(parts)


def _code(text: str) -> Markup:
    """The text with what is in backquotes as code."""
    return _coded(text.split("`"))


def _coded(parts: Sequence[str]) -> Markup:
    """The parts of a text, split before and after what is code, as one text: every second part is code."""
    return Markup("").join(Markup("<code>{}</code>").format(part) if i % 2 else part for i, part in enumerate(parts))


def _claims(sources: Sequence[PageSource]) -> dict[str, object]:
    """What the template shows of published claims: the rows of each claim, and how many claims have no answer."""
    ordered = sorted(sources, key=lambda source: source.run.started)
    groups = (groups_to_ask(source.run, source.trials, source.environments) for source in ordered)
    rows = answers([group for of_run in groups for group in of_run])
    shown = [row for row in rows if row.database]
    return {
        "by_claim": [list(same) for _, same in groupby(shown, key=lambda row: row.claim)],
        "modelled": any(row.modelled for row in shown),
        "unanswered": len({row.claim for row in rows} - {row.claim for row in shown}),
        "command": f"keybench compare {' '.join(source.run.id for source in sources)} --claims --all",
    }
