"""Makes the study's runs, in the order of study.toml, and compares their page counts with the published ones.

python -m scripts.study [--only NAME] [--rows N]

Each run has a results file in build/study. One that was stopped goes on where it was. A run that is whole becomes a
bundle: in docs/example/study if none is published there, else beside its results, and each count of pages must be equal
to the published one.
"""

import argparse
import subprocess
import sys
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from keybench.errors import KeybenchError
from keybench.model.metric import Metric
from keybench.results.bundle.reading import read_bundle

ROOT: Final = Path(__file__).parents[2]
PUBLISHED: Final = ROOT / "docs" / "example" / "study"
RESULTS: Final = ROOT / "build" / "study"
COUNTS: Final = (Metric.LEAF_PAGES,)
"""What a second study must have equal to the page."""
_COMMON: Final = ("--profile", "durable", "--seed", "20261127")

Place = tuple[str, ...]
"""Database, column, layout, rows, metric, object, origin."""


@dataclass(frozen=True)
class StudyRun:
    """One run of the study."""

    name: str
    hours: float
    """That it takes on a 2-core virtual machine."""
    options: Sequence[str]
    """Of `keybench run`."""


def study_runs() -> list[StudyRun]:
    """All of study.toml, in its order."""
    listed = tomllib.loads(Path(__file__).with_name("study.toml").read_text(encoding="utf-8"))["run"]
    return [StudyRun(**one) for one in listed]


def make(run: StudyRun, more: Sequence[str], results: Path, published: Path) -> int:
    """Makes one run or goes on with it, and bundles it. Exit code: 1 if trials failed or page counts differ."""
    results.mkdir(parents=True, exist_ok=True)
    store = results / f"{run.name}.sqlite"
    going_on = store.exists()
    options = ["--resume", "latest"] if going_on else [*run.options, *_COMMON, *more]
    print(f"{run.name}: {'goes on' if going_on else f'about {run.hours:g} hours'}", flush=True)
    if code := _keybench("run", *options, "--results", str(store)):
        return code
    first = published / f"{run.name}.zip"
    bundle = results / first.name if first.exists() else first
    bundle.parent.mkdir(parents=True, exist_ok=True)
    if code := _keybench("export", "latest", "--bundle", "-o", str(bundle), "--results", str(store)):
        return code
    if bundle == first:
        return 0
    problems = differences(page_counts(first), page_counts(bundle))
    for line in problems or [f"{run.name}: all page counts are equal to the published ones"]:
        print(line)
    return 1 if problems else 0


def page_counts(bundle: Path) -> Mapping[Place, set[float]]:
    """The counts of pages in a bundle: all values that the blocks of a run have."""
    counts: dict[Place, set[float]] = {}
    for trial in read_bundle(bundle).trials:
        of_trial = (trial.database, trial.column, trial.layout, str(trial.rows))
        for reading in trial.readings:
            if reading.metric in COUNTS and reading.value is not None:
                place = (*of_trial, reading.metric, str(reading.subject), reading.origin)
                counts.setdefault(place, set()).add(reading.value)
    return counts


def differences(published: Mapping[Place, set[float]], again: Mapping[Place, set[float]]) -> list[str]:
    """A line for each place whose counts of pages are not those that are published."""
    return [
        f"{' · '.join(place)}: {_spelled(again.get(place))}; published {_spelled(published.get(place))}"
        for place in sorted(published.keys() | again.keys())
        if published.get(place) != again.get(place)
    ]


def _spelled(counts: set[float] | None) -> str:
    return "nothing" if counts is None else ", ".join(f"{one:,.0f}" for one in sorted(counts))


def _keybench(*arguments: str) -> int:
    """The exit code of a keybench command."""
    return subprocess.run([sys.executable, "-m", "keybench", *arguments], cwd=ROOT, check=False).returncode


def main() -> int:
    """The command; its exit code is the worst of all runs. An interruption ends the study, and the next one goes on."""
    parser = argparse.ArgumentParser(prog="python -m scripts.study", description=__doc__)
    parser.add_argument("--only", choices=[one.name for one in study_runs()], action="append", help="one run")
    parser.add_argument("--rows", help="rows of each trial, to try the study out; nothing is published then")
    given = parser.parse_args()
    chosen = [one for one in study_runs() if not given.only or one.name in given.only]
    print(f"{len(chosen)} runs, about {sum(one.hours for one in chosen):.1f} hours; build/study keeps what is done")
    worst = 0
    more: Sequence[str] = ["--rows", given.rows] if given.rows else []
    places = (RESULTS / "tried", RESULTS / "tried" / "published") if given.rows else (RESULTS, PUBLISHED)
    for run in chosen:
        try:
            worst = max(worst, make(run, more, *places))
        except KeybenchError as error:
            print(f"{run.name}: {error}", file=sys.stderr)
            worst = max(worst, 1)
        except KeyboardInterrupt:
            return 130
    return worst


if __name__ == "__main__":
    sys.exit(main())
