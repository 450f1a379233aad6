"""Groups trials as claims need them: cells of arms that can be compared with one another."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from keybench.model.names import COMPUTED, NO_DATABASE
from keybench.results.analysis.arms import Arm
from keybench.results.claims.claim import Question, Side
from keybench.results.store.records import Environment, Run, Trial

_OTHER_ORDER = "binary16-mssql"
"""The column in SQL Server's order. A claim that names only a layout never means this column."""


@dataclass(frozen=True)
class Cell:
    """Trials of one run on one server that differ only in layout and column."""

    run: Run
    database: str
    server: str
    scenario: str
    payload: int
    rows: int
    writers: int
    environment: Environment | None
    arms: Mapping[tuple[str, str], Arm] = field(repr=False)

    @property
    def modelled(self) -> bool:
        """Whether no server took part."""
        return self.server in COMPUTED

    def arm(self, side: Side) -> Arm | None:
        """The arm that a side of a comparison names; None if the cell has none.

        A side without a column means the layout's default column, where the run recorded it.
        """
        pair = self.run.pairing(self.database, side.layout)
        column = side.column or (pair.default if pair else "")
        if side.column or (side.layout, column) in self.arms:
            return self.arms.get((side.layout, column))
        arms = [arm for (layout, _), arm in sorted(self.arms.items()) if layout == side.layout]
        return next((arm for arm in arms if arm.column != _OTHER_ORDER), arms[0] if arms else None)

    def fits(self, question: Question) -> bool:
        """Whether the cell's trials did the work that the question asks about."""
        return (
            self.scenario in (question.scenario, *question.also)
            and question.payload in (None, self.payload)
            and question.writers in (None, self.writers)
        )


def cells(run: Run, trials: Iterable[Trial], environments: Iterable[Environment]) -> list[Cell]:
    """The cells of a run. In trials without a database, the arm's column says how the keys were made, so that the ways
    of making them can be compared."""
    servers = {(one.database, one.server): one for one in environments}
    parts: dict[tuple[str, str, str, int, int, int], dict[tuple[str, str], list[Trial]]] = defaultdict(
        lambda: defaultdict(list)
    )
    for trial in trials:
        alone = trial.database == NO_DATABASE
        server, column, writers = ("", trial.server, 0) if alone else (trial.server, trial.column, trial.writers)
        place = (trial.database, server, trial.scenario, trial.payload, trial.rows, writers)
        parts[place][trial.layout, column].append(trial)
    result = []
    for place, own in sorted(parts.items()):
        database, server, _, payload, _, _ = place
        arms = {
            (layout, column): Arm(database, server, column, layout, payload, tuple(part))
            for (layout, column), part in own.items()
        }
        result.append(Cell(run, *place, servers.get((database, server)), arms))
    return result
