"""Writes what the study's bundles say: docs/findings.md with its pictures, and the site in docs/example.

python -m scripts.study.page
"""

from base64 import b64encode
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from statistics import fmean
from typing import Final
from urllib.parse import urlsplit

from markupsafe import Markup

from keybench.model.metric import Metric
from keybench.model.names import COMPUTED
from keybench.model.subject import KEY, MODEL
from keybench.results.bundle.reading import Bundle
from keybench.results.report.page import fill
from keybench.results.site.writing import published, write_site
from keybench.results.store.records import Trial
from keybench.results.wording import number
from scripts.study.finding import Picture, drawing
from scripts.study.findings import findings
from scripts.study.values import Values

HERE: Final = Path(__file__).parent
DOCS: Final = HERE.parents[1] / "docs"
SITE: Final = DOCS / "example"
BUNDLES: Final = SITE / "study"
"""The first machine's bundles; those of others are in folders of it, each with its machine's name."""
PICTURES: Final = DOCS / "pictures" / "findings"
DOCUMENT: Final = DOCS / "findings.md"
_STYLE: Final = (
    "svg{--paper:#fff}@media(prefers-color-scheme:dark){svg{--ink:#e3e7eb;--soft:#98a2ad;--paper:#14181c;--k4:#7fa0bd;"
    "--c0:#4fa8e0;--c1:#ff8a4c;--c2:#34c79b;--c3:#e3a0c6;--c4:#f2b84b;--c5:#8cd0f5;--c6:#9c8fe8;--c7:#d0628f}}"
)
"""What a picture needs outside a page: GitHub shows it on white or on black."""


def document(values: Values, others: Mapping[str, Values]) -> str:
    """docs/findings.md: the findings of the first machine, the same sentences of each other one, and the runs."""
    return "\n".join([*_head(values), *_findings(values, others), *_runs(values)]) + "\n"


_HEAD: Final = """\
# Findings

What keys cost, by {count} runs of keybench. {machine}
{servers}.

- Numbers are medians. In brackets: the 95 % interval of six repetitions, or the range of fewer; black marks in the
  pictures are the same. Without brackets there was one repetition, or all were equal. `bigint` is a counter.
- A *page model* is a program that fills an index by the rules of the database. Those of PostgreSQL, MariaDB, MySQL and
  SQLite equal the servers' page counts where the order of the rows is known (table below). Pale bars are of a model
  alone.
- The times in the keys are simulated at the stated rate; rows are sent as fast as the server takes them.
- EF Core means its SequentialGuidValueGenerator; RT.Comb, HotGuid and Morris' keys are other generators of .NET for
  keys in order ([layouts](layouts.md)). NEWSEQUENTIALID is SQL Server's, here made by the client.

`make study` makes the runs again and compares page counts with these [bundles](example/study), from which
`python -m scripts.study.page` writes this page.
"""


def _head(values: Values) -> Iterator[str]:
    yield _HEAD.format(count=len(values.bundles), machine=machine(values), servers=servers(values))


def _findings(values: Values, others: Mapping[str, Values]) -> Iterator[str]:
    more = {machine: {one.name: one for one in findings(theirs)} for machine, theirs in others.items()}
    for place, one in enumerate(findings(values), 1):
        yield f"## {place}. {one.sentence}\n"
        yield f"![{one.picture.title}: {one.picture.unit}](pictures/findings/{one.name}.svg)\n"
        if one.elsewhere:
            yield f"- {one.elsewhere}"
        yield f"- **Holds**: {one.holds}"
        yield f"- **Limits**: {one.fails}"
        yield from (f"- Published: {said.claim} Our result {said.verdict} ({said.address})." for said in one.published)
        runs = (f"[{run}](example/runs/{values.bundles[run].run.id}/index.html)" for run in one.runs)
        yield f"- From {', '.join(runs)}."
        yield from (f"- On {name}: {known[one.name].sentence}" for name, known in more.items() if one.name in known)
        yield ""


def _runs(values: Values) -> Iterator[str]:
    yield "## The runs\n"
    yield "|run|trials|failed|rows|hours|processors that other programs used|pages as modelled|"
    yield "|---|---|---|---|---|---|---|"
    for name, bundle in values.bundles.items():
        yield f"|{'|'.join((name, *_run(bundle)))}|"
    yield ""
    yield (
        "*Pages as modelled*: trials on a server whose leaf pages are those of the page model for the same keys, of "
        "all\nwhose model answers. `–`: none answers, as where writers race for the same page. In switch-from-v4 two "
        "writers wrote\nmore log than MariaDB and MySQL keep, so the model took rows in order of transactions."
    )


def _run(bundle: Bundle) -> Iterator[str]:
    trials = bundle.trials
    rows = sorted({trial.rows for trial in trials})
    yield f"{len(trials):,}"
    yield f"{sum(trial.status != 'ok' for trial in trials)}"
    yield " or ".join(f"{count:,}" for count in rows)
    yield f"{sum(trial.seconds for trial in trials) / 3600:.1f}"
    readings = (one for trial in trials for one in trial.readings if one.metric == Metric.OTHERS_CPU)
    busy = [one.value for one in readings if one.value is not None]
    yield f"{fmean(busy):.2f}" if busy else "0.00"
    checked = [fits for trial in trials if (fits := _as_modelled(trial)) is not None]
    yield f"{sum(checked)} of {len(checked)}" if checked else "–"


def _as_modelled(trial: Trial) -> bool | None:
    """Whether the server's leaf pages are the model's; None if one of both is missing."""
    pages = {one.subject: one for one in trial.readings if one.metric == Metric.LEAF_PAGES and one.value is not None}
    if trial.server in COMPUTED or KEY not in pages or MODEL not in pages or pages[KEY].origin != "measured":
        return None
    return pages[KEY].value == pages[MODEL].value


def machine(values: Values) -> str:
    """The machine of the runs and their days, in a sentence."""
    runs = [bundle.run for bundle in values.bundles.values()]
    about = runs[0].machine
    days = sorted({run.started.date() for run in runs})
    when = " to ".join(dict.fromkeys(f"{day:%-d %B %Y}" for day in (days[0], days[-1])))
    return f"They ran on one machine ({about.get('cpu')}, {about.get('cores')} cores), {when}."


def servers(values: Values) -> str:
    """The servers of the runs, with their versions."""
    versions = {
        one.database: f"{bundle.run.title(one.database)} {next(iter(one.versions.values()))}"
        for bundle in values.bundles.values()
        for one in bundle.environments
        if one.versions and one.server not in COMPUTED
    }
    return f"Servers: {', '.join(versions.values())}; each commit is flushed, and autovacuum is off"


def picture(one: Picture, name: str) -> str:
    """A picture as a file of its own."""
    svg = drawing(one).svg(name)
    return svg.replace("<svg ", '<svg xmlns="http://www.w3.org/2000/svg" width="390" ', 1).replace(
        "<defs>", f"<style>{_STYLE}</style><defs>", 1
    )


def _table(one: Picture) -> Markup:
    """The picture's numbers."""
    lines = [
        Markup("<tr><td>{}</td><td>{}</td><td>{}</td><td>{} to {}</td></tr>").format(
            group, bar.label, *(number(part, one.places) for part in (bar.value.median, bar.value.low, bar.value.high))
        )
        for group, bars in one.groups
        for bar in bars
    ]
    return Markup("<table>{}</table>").format(Markup("").join(lines))


def _safe(svg: str) -> Markup:
    return Markup(svg)  # noqa: S704 (our own drawing)


def front(values: Values) -> str:
    """The site's first page: each finding with its picture."""
    shown = [(one, _safe(drawing(one.picture).svg(one.name)), _table(one.picture)) for one in findings(values)]
    return fill(
        HERE / "front.html.jinja",
        findings=shown,
        filling=b64encode((DOCS / "pictures" / "filling.svg").read_bytes()).decode("ascii"),  # its style is its own
        runs={name: bundle.run.id for name, bundle in values.bundles.items()},
        host=lambda address: urlsplit(address).netloc.removeprefix("www."),
        machine=machine(values),
    )


def write(values: Values, others: Mapping[str, Values]) -> None:
    """Writes the document, the pictures and the site."""
    DOCUMENT.write_text(document(values, others), encoding="utf-8")
    PICTURES.mkdir(parents=True, exist_ok=True)
    for one in findings(values):
        (PICTURES / f"{one.name}.svg").write_text(picture(one.picture, one.name), encoding="utf-8")
    bundles: Sequence[str] = [str(path) for path in sorted(BUNDLES.glob("**/*.zip"))]
    write_site(published(bundles, "", small=True), SITE, front(values))


def others() -> Mapping[str, Values]:
    """The bundles of other machines, by the machine's name."""
    return {path.name: Values.of_folder(path) for path in sorted(BUNDLES.iterdir()) if path.is_dir()}


if __name__ == "__main__":
    write(Values.of_folder(BUNDLES), others())
