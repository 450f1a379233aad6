"""Shows the progress of a run: bars on a terminal, else one line for each trial."""

from typing import Self

from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn

from keybench.model.metric import Metric
from keybench.model.subject import KEY
from keybench.results.store.records import Trial
from keybench.runners.planning.trial_plan import TrialPlan


def say(console: Console, text: str) -> None:
    """Prints one line without styles and without wrapping."""
    console.print(text, soft_wrap=True)


def result_in_words(result: Trial) -> str:
    """One trial's result in a few words: its error, or the time that it took, or what was modelled."""
    if result.status == "error":
        return f"FAILED: {result.error}"
    values = {reading.metric: reading.value for reading in result.readings if reading.subject == KEY}
    if (nanoseconds := values.get(Metric.KEY_NS)) is not None:
        return f"{nanoseconds:.1f} ns a key"
    if seconds := values.get(Metric.INSERT_SECONDS):
        return f"{seconds:.2f} s, {result.rows / seconds:,.0f} rows/s"
    return f"{values[Metric.LEAF_PAGES]:,.0f} leaf pages, {values[Metric.LEAF_DENSITY]:.1f} % full (modelled)"


class Display:
    """A line for each finished trial and, on a terminal, two bars: all trials, and the rows of the current one.

    A context manager around all trials.
    """

    def __init__(self, console: Console, total: int) -> None:
        self._console, self._total = console, total
        self._progress = Progress(
            TextColumn("{task.description}", markup=False),
            BarColumn(bar_width=24),
            TextColumn("{task.fields[amount]}", justify="right", markup=False),
            TimeElapsedColumn(),
            TimeRemainingColumn(),
            console=console,
            transient=True,
            disable=not console.is_terminal,
        )
        self._all_trials = self._progress.add_task("all trials", total=total, amount=f"0/{total}")
        self._current = self._progress.add_task("", total=None, amount="")

    def stage(self, text: str) -> None:
        """Says what happens before the first trial starts: a server is started, a pilot runs."""
        if self._console.is_terminal:  # beside a bar that only moves: nobody knows how long it takes
            self._progress.reset(self._current, total=None, description=text, amount="")
        else:
            say(self._console, f"{text} …")

    def begin(self, number: int, trial: TrialPlan) -> None:
        """Trial `number` (from 1) starts. Its line is printed when it ends."""
        self._progress.update(self._all_trials, completed=number - 1, amount=f"{number}/{self._total}")
        self._progress.reset(self._current, total=trial.rows, description=trial.label, amount="")

    def rows(self, sent: int) -> None:
        """Rows of the current trial sent so far."""
        speed = self._progress.tasks[self._current].speed
        rate = f", {speed:,.0f} rows/s" if speed else ""
        self._progress.update(self._current, completed=sent, amount=f"{sent:,} rows{rate}")

    def end(self, number: int, trial: TrialPlan, result: Trial) -> None:
        """Prints the trial's line, above the bars."""
        place = f"[{number:>{len(str(self._total))}}/{self._total}]"
        say(self._console, f"{place} {trial.label}: {result_in_words(result)}")
        self._progress.update(self._all_trials, completed=number)

    def __enter__(self) -> Self:
        self._progress.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._progress.stop()
