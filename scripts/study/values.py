"""What the bundles of the study's runs hold: values by block, and their ratios with intervals."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Final

from keybench.errors import UsageError
from keybench.model.metric import Metric
from keybench.model.names import COMPUTED
from keybench.model.subject import KEY, Subject
from keybench.results.analysis.arms import Arm, arms_of
from keybench.results.analysis.ratios import ByBlock, Summary, summarise, summarise_ratio
from keybench.results.bundle.reading import Bundle, read_bundle

IN_ORDER: Final = "binary16-mssql"
"""The column whose bytes sort as SQL Server sorts a uniqueidentifier."""


class MissingRun(UsageError):
    """The machine has not made a run that a finding needs."""


@dataclass(frozen=True)
class Case:
    """Trials that differ in their block alone: of one run, on one database. Without `writers`: the layout has one
    there. Without `column`: the one that people use, not `IN_ORDER`."""

    run: str
    database: str
    layout: str
    column: str = ""
    writers: int = 0

    def __str__(self) -> str:
        parts = (self.run, self.database, self.layout, self.column, f"{self.writers} writers" if self.writers else "")
        return " · ".join(filter(None, parts))


@dataclass(frozen=True)
class Values:
    """The runs of one machine by name."""

    bundles: Mapping[str, Bundle]

    @staticmethod
    def of_folder(folder: Path) -> "Values":
        """All bundles of the folder, by the names of their files."""
        return Values({path.stem: read_bundle(path) for path in sorted(folder.glob("*.zip"))})

    @cached_property
    def _arms(self) -> Mapping[str, tuple[Arm, ...]]:
        return {name: arms_of(bundle.trials) for name, bundle in self.bundles.items()}

    def arm(self, case: Case) -> Arm:
        """The trials of a case. MissingRun without its run, UsageError unless exactly one arm is meant."""
        if case.run not in self._arms:
            raise MissingRun(f"{case.run} is not among the bundles.")
        fit = [
            arm
            for arm in self._arms[case.run]
            if (arm.database, arm.layout) == (case.database, case.layout)
            and case.column in ("", arm.column)
            and case.writers in (0, arm.writers)
        ]
        if len(fit) > 1 and not case.column:
            fit = [arm for arm in fit if arm.column != IN_ORDER]
        if len(fit) != 1:
            raise UsageError(f"{case}: {len(fit)} arms of the study fit and not one.")
        return fit[0]

    def by_block(self, case: Case, metric: Metric, subject: Subject = KEY) -> ByBlock:
        """The values of a metric. UsageError if there are none."""
        values = self.arm(case).values(metric, subject)
        if not values:
            raise UsageError(f"{case} has no {metric}.")
        return values

    def value(self, case: Case, metric: Metric, subject: Subject = KEY) -> Summary:
        """The metric's median over blocks."""
        summary = summarise(self.by_block(case, metric, subject).values())
        assert summary
        return summary

    def rows(self, case: Case) -> int:
        """The rows of each trial."""
        return self.arm(case).trials[0].rows

    def per_row(self, case: Case, metric: Metric, subject: Subject = KEY) -> Summary:
        """The metric's median over blocks, divided by the rows."""
        summary = summarise([value / self.rows(case) for value in self.by_block(case, metric, subject).values()])
        assert summary
        return summary

    def is_modelled(self, case: Case) -> bool:
        """Whether no server ran it."""
        return self.arm(case).server in COMPUTED

    def ratio(self, case: Case, to: Case, metric: Metric) -> Summary:
        """The ratio of two cases in the same block, with its 95 % interval where there are six blocks."""
        summary = summarise_ratio(self.by_block(case, metric), self.by_block(to, metric))
        if not summary:
            raise UsageError(f"{case} and {to} have no {metric} in the same block.")
        return summary
