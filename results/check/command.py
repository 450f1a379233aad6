"""The command `keybench check`, and its outcome: lines for a terminal and a CI job's summary, plain values for JSON."""

import os
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import fields
from pathlib import Path
from typing import Annotated, Any, Final

import typer

from keybench import cli
from keybench.errors import KeybenchError, UsageError, unknown_name
from keybench.model.metric import Metric
from keybench.model.subject import KEY
from keybench.results.analysis.groups import groups_of
from keybench.results.analysis.warnings import warnings
from keybench.results.atomic_file import STANDARD_OUTPUT
from keybench.results.check.baseline import LIMITS, Baseline, load, measure, merged, save
from keybench.results.check.gate import REGRESSIONS, CheckFinding, Kind, Outcome, decide, failures
from keybench.results.comparison import Conditions
from keybench.results.store.database import Store
from keybench.results.wording import listed

app = cli.application()

EXIT_CODES = """\
Exit codes: 0 the run repeats the baseline · 1 a regression, a changed count, a failed trial · 2 wrong input ·
3 inconclusive: too few blocks for the question, or nothing in common with the baseline · 4 the results database does
not answer."""


@app.command(epilog=EXIT_CODES)
def check(
    run: Annotated[str, typer.Argument(metavar="RUN", help="The run: an id, a unique prefix of it, or `latest`.")],
    baseline: Annotated[Path, typer.Option("--baseline", help="The file that says what the run must repeat.")],
    update: Annotated[
        bool, typer.Option("--update-baseline", help="Accept the run: write what it measured to the file. Exit code 0.")
    ] = False,
    summary: Annotated[
        Path | None,
        typer.Option("--summary", help="Append a Markdown summary to this file, for example $GITHUB_STEP_SUMMARY."),
    ] = None,
    limit: Annotated[
        list[str] | None,
        typer.Option(
            metavar="METRIC=PERCENT",
            help="How much a metric's ratio to the control may grow; `none` leaves the metric out. Default: the "
            "baseline's limits, which --update-baseline sets. May be repeated for several metrics.",
        ),
    ] = None,
    results: cli.Results = cli.RESULTS,
    as_json: cli.AsJson = False,
) -> int:
    """Compare a run with its baseline: page counts exactly, and times as ratios to the control over their blocks.

    Only like is compared with like. Results from another server version or with other settings, and times from another
    machine, are reported as not comparable and do not fail the check.

    Examples:

      keybench check latest --baseline results/check/models.json

      keybench check latest --baseline results/check/models.json --update-baseline
    """
    creating = update and not os.path.lexists(baseline)
    old = Baseline(limits=dict(LIMITS)) if creating else load(baseline)
    limits = _limits(old.limits, limit or [])
    with Store.open(results, write=False) as store:
        checked = store.run(run)
        trials = store.trials(checked.id)
        if not trials:
            raise UsageError(
                f"run {checked.id} holds no trials, so there is nothing to check: go on with `keybench run --resume "
                f"{checked.id}`, or name another run."
            )
        groups = groups_of(checked, trials, store.environments(checked.id))
    # the verdict
    now, failed = measure(groups, limits), failures(groups)
    outcome = decide(now, old, limits, failed)
    doubts = warnings(checked, trials, environments=()) if outcome.of_kind("slower", "unclear") else []
    lines = [*finding_lines(outcome), *(f"warning: {doubt}" for doubt in doubts)]
    if as_json:
        cli.print_json(record(outcome, checked.id, doubts))
    elif not creating:  # a baseline that is still to be made says nothing that the run could repeat
        cli.write("".join(f"{line}\n" for line in (lines if update else [*lines, verdict(outcome)])))
    if summary is not None and not creating:
        _append(summary, markdown(outcome, checked.id, [*lines, verdict(outcome)]))
    if not update:
        return outcome.exit_code
    # the new baseline
    if failed:
        raise KeybenchError(
            f"{len(failed)} of {len(trials)} trials of run {checked.id} have failed, and a baseline is made of "
            f"good ones; {baseline} was left as it is: fix what failed, and run again."
        )
    if not now.counts and not now.times:
        raise UsageError(
            f"run {checked.id} has neither exact page counts nor ratios to the control; {baseline} was left as it is: "
            "measure with one writer, with --server model, or with the control bigint-identity."
        )
    changed = save(baseline, merged(old, now))
    if not as_json:
        cli.write(f"{baseline}: {'written' if changed else 'says so already'}\n")
    return 0


def _limits(of_baseline: Mapping[Metric, float], options: Sequence[str]) -> dict[Metric, float]:
    """The baseline's limits (per cent by metric), changed by the options METRIC=PERCENT or METRIC=none. Raises
    UsageError for an unknown metric, one that may grow without harm, or no number."""
    limits = dict(of_baseline)
    for option in options:
        name, _, value = option.partition("=")
        if name not in set(Metric):
            raise unknown_name("metric", name, set(Metric))
        metric = Metric(name)
        if value == "none":
            limits.pop(metric, None)
            continue
        limits[metric] = _percent(option, value)
        if metric.definition.better != "lower":
            raise UsageError(f"--limit {option}: a higher {name} is not worse: limit a metric that should be low.")
    return limits


def _percent(option: str, value: str) -> float:
    """The per cent that `value`, of the whole `option`, means. UsageError unless it is a number above 0."""
    try:
        percent = float(value.removesuffix("%"))
    except ValueError:
        percent = 0.0  # refused like all that is not above 0
    if not 0 < percent < 10_000:
        raise UsageError(f"--limit {option}: write METRIC=PERCENT with a number above 0, as in insert_seconds=10.")
    return percent


def _append(path: Path, text: str) -> None:
    """Writes the text behind what the file holds, or to standard output. UsageError if it cannot be written."""
    if str(path) in STANDARD_OUTPUT:
        cli.write(text)
        return
    try:
        if path.exists() and not path.is_file():  # a pipe that nobody reads would not open
            raise UsageError(f"{path} is no regular file: give --summary another file, or - for standard output.")
        with path.open("a", encoding="utf-8") as out:
            out.write(text)
    except OSError as error:
        raise UsageError(f"{path} cannot be written ({error.strerror}): give --summary another file.") from None


MOST_LISTED = 100
"""The most findings of a kind that are listed: GitHub limits the length of a page, and readers have limits too."""

_TITLES: dict[Kind, str] = {
    "changed": "regression",
    "slower": "regression",
    "unclear": "inconclusive",
    "faster": "improvement",
}
"""Where a reader sees another word than the kind."""
_LISTED: tuple[Kind, ...] = (*REGRESSIONS, "unclear", "faster", "not comparable", "new", "not measured")
_VERDICTS = {0: "no regression", 1: "regression", 3: "inconclusive"}
_SIGNS = {0: "✅", 1: "❌", 3: "❓"}
"""The verdict in words, and its sign in Markdown, by exit code."""


def _scenario(work: Conditions) -> str:
    """The scenario in a few words, without what is usual."""
    rows, payload, writers = work.get("rows"), work.get("payload"), work.get("writers")
    parts = [f"{work.get('scenario')}", f"{rows:,} rows" if isinstance(rows, int) else ""]
    parts.append(f"{payload} characters" if payload != 100 else "")  # 100, one writer and "clustered" are usual
    parts.append(f"{writers} writers" if writers != 1 else "")
    parts.append(str(work.get("key")) if work.get("key") != "clustered" else "")
    return ", ".join(part for part in parts if part)


def _what(finding: CheckFinding) -> str:
    """The metric with its old and new value, and the note: `leaf_pages 120 → 130 (worse)`."""
    change = f"{finding.metric} {finding.old} → {finding.new}" if finding.metric else ""
    note = f"({finding.note})" if change and finding.note else finding.note
    return f"{change} {note}".strip()


_BY_CAUSE: Final[tuple[Kind, ...]] = ("failed", "changed")
"""Kinds whose findings on the same work mostly have one cause, as one changed rule has; the others are judged apart."""


def finding_lines(outcome: Outcome) -> Iterator[str]:
    """A line for each cause of a difference from the baseline, the worst kinds first; at most `MOST_LISTED` of each."""
    for kind in _LISTED:
        causes: dict[str, list[CheckFinding]] = {}  # by work and error, or by number: each is its own cause
        for number, finding in enumerate(outcome.of_kind(kind)):
            error = finding.note.partition(": ")[2] if kind == "failed" else ""  # behind "block 3: "
            causes.setdefault(f"{finding.work} {error}" if kind in _BY_CAUSE else str(number), []).append(finding)
        for findings in list(causes.values())[:MOST_LISTED]:
            yield _line(findings)
        if len(causes) > MOST_LISTED:
            yield f"{_TITLES.get(kind, kind)}: and {len(causes) - MOST_LISTED:,} more"


def _line(findings: Sequence[CheckFinding]) -> str:
    """One cause: its most telling finding, and how many others it has, of which layouts."""
    # the first that is not harmless, of leaf pages if possible
    first = min(findings, key=lambda one: (_is_harmless(one), one.metric != Metric.LEAF_PAGES))
    title = "change" if all(map(_is_harmless, findings)) else _TITLES.get(first.kind, first.kind)
    subject = "" if first.subject == KEY else str(first.subject)
    database = f"{first.work.get('database')} ({first.work.get('server')})"
    place = " · ".join(filter(None, (database, first.layout, first.column, subject, _scenario(first.work))))
    layouts = listed(sorted({one.layout for one in findings}), 3)
    more = f"; and {len(findings) - 1:,} more of {layouts}" if len(findings) > 1 else ""
    return f"{title}: {place}: {_what(first)}{more}"


def _is_harmless(finding: CheckFinding) -> bool:
    """Whether a count changed for the better, or has no good direction: a change of behaviour, and no regression."""
    return finding.kind == "changed" and finding.note.startswith(("better", "changed"))


def _word(outcome: Outcome) -> str:
    """The verdict in a word or two: `change` if all changed counts are harmless, which JSON does not tell apart."""
    harmless = outcome.exit_code == 1 and all(map(_is_harmless, outcome.of_kind(*REGRESSIONS)))
    return "change" if harmless else _VERDICTS[outcome.exit_code]


def verdict(outcome: Outcome) -> str:
    """One sentence, and what to do next, if anything."""
    if not outcome.counts + outcome.ratios and not outcome.of_kind(*REGRESSIONS):
        return (
            "inconclusive: the run and the baseline have nothing in common that was measured under the same "
            "conditions. Repeat the run that the baseline was made from, or add this run to it with --update-baseline."
        )
    counts = Counter[str](finding.kind for finding in outcome.findings)
    parts = [f"{outcome.counts:,} page counts compared, {counts['changed']:,} metrics changed"]
    if outcome.ratios:
        parts.append(f"{outcome.ratios:,} ratios compared, {counts['slower']:,} worse")
    for kind, words in (("unclear", "open"), ("not measured", "not measured"), ("failed", "trials failed")):
        if counts[kind]:
            parts.append(f"{counts[kind]:,} {words}")
    step = ""
    if counts["changed"] or counts["slower"]:
        step = " If that is intended, accept it with --update-baseline."
    elif counts["unclear"]:
        step = " Run more blocks (--blocks)."
    elif counts["not measured"]:
        step = " Measure it too, or take it out of the baseline."
    return f"{_word(outcome)}: {'; '.join(parts)}.{step}"


def record(outcome: Outcome, run_id: str, doubts: Iterable[str] = ()) -> dict[str, Any]:
    """The outcome as plain values: all findings, also those that lines and summary cut off."""
    return {
        "run": run_id,
        "verdict": _VERDICTS[outcome.exit_code],
        "exit_code": outcome.exit_code,
        "counts_compared": outcome.counts,
        "ratios_compared": outcome.ratios,
        "findings": [_plain(finding) for finding in outcome.findings],
        "warnings": list(doubts),
    }


def _plain(finding: CheckFinding) -> dict[str, Any]:
    """The finding for JSON: texts by name, and its work as a table; the subject's name there is `object`."""
    texts = {field.name: str(getattr(finding, field.name) or "") for field in fields(finding)}
    names = {name: "object" if name == "subject" else name for name in texts}
    return {names[name]: finding.work if name == "work" else text for name, text in texts.items()}


def markdown(outcome: Outcome, run_id: str, lines: Iterable[str]) -> str:
    """The summary: the verdict as a heading, and the lines that the terminal shows. Four spaces before a line make it
    code in Markdown: names and errors come from whoever made the run, and as code they can neither change the page nor
    mention anybody."""
    code_lines = "".join(f"    {' '.join(line.split())}\n" for line in lines)  # an error may have several lines
    return f"### {_SIGNS[outcome.exit_code]} keybench: run {run_id}, {_word(outcome)}\n\n{code_lines}\n"
