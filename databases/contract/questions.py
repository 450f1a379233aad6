"""Questions about an engine that only a live server answers. `keybench verify` asks them.

An engine declares its questions (`Engine.questions`), each with the loads whose trials answer it and a judge that reads
one trial. Loads are named, not built, because an engine knows nothing of scenarios: a load is a run of the scenario of
that name.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from keybench.model.metric import Metric
from keybench.model.reading import Reading
from keybench.model.subject import KEY, Subject
from keybench.model.table import Table

Outcome = Literal["equal", "differs", "not measured"]
"""Whether the server does what the adapter and its page model say. `not measured`: nothing shows it."""


@dataclass(frozen=True)
class QuestionLoad:
    """The work of one run: a scenario with layouts and columns. Each layout in each column is a trial."""

    name: str
    """What the load is, in a few words. An engine's loads have different names."""
    scenario: str
    layouts: tuple[str, ...]
    """Names, or `all` for every layout that clients make. The control is always measured too."""
    rows: int
    columns: tuple[str, ...] = ("native",)
    writers: int | None = None
    """Equal writers, in place of the scenario's."""


@dataclass(frozen=True)
class JudgedTrial:
    """What a judge sees of a trial that ended without an error."""

    layout: str
    table: Table
    rows: int
    writers: int
    readings: Sequence[Reading]

    def about(self, subject: Subject = KEY) -> Mapping[Metric, Reading]:
        """The readings of one subject by metric, also those without a value."""
        return {reading.metric: reading for reading in self.readings if reading.subject == subject}

    def values(self, subject: Subject = KEY) -> Mapping[Metric, float]:
        """The values of one subject by metric, without those that are absent."""
        readings = self.about(subject)
        return {metric: reading.value for metric, reading in readings.items() if reading.value is not None}


@dataclass(frozen=True)
class Verdict:
    """A trial's answer to a question."""

    outcome: Outcome
    evidence: str = ""
    """`measured X, model Y`, or why it could not be measured; what is worth knowing where it is equal."""


@dataclass(frozen=True)
class Question:
    """A statement about the engine, and how trials confirm or refute it."""

    statement: str
    """What should be so, as a sentence without its full stop. An engine's statements differ."""
    meaning: str
    """What depends on it: one or two sentences for people who do not know the adapter."""
    loads: tuple[QuestionLoad, ...]
    judge: Callable[[JudgedTrial], Verdict | None]
    """The verdict of a trial of one of these loads; None if the trial cannot show it."""
    every_trial: bool = False
    """Whether a trial that fails leaves it without an answer, whatever the other trials show."""
    of_any_run: bool = False
    """Whether trials of ordinary runs answer it too. Their verdicts are warnings of the run."""
