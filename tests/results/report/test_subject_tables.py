"""Tables of a group's page models."""

from dataclasses import replace

import pytest

from keybench.model.metric import Metric
from keybench.model.reading import Reading
from keybench.model.subject import MODEL
from keybench.results.analysis.groups import group_trials
from keybench.results.report.tables import SubjectTable, subject_tables
from tests.results.conftest import a_run, trials

FEW = ("bigint-identity", "uuid-v4")


def tables(*readings: Reading, server: str = "embedded") -> dict[str, SubjectTable]:
    """The tables, by title, of a group whose trials have these readings too."""
    made = [
        replace(trial, server=server, readings=(*trial.readings, *readings))
        for trial in trials(FEW, ("postgresql",), 1, 1000, (100,), after=False)
    ]
    (group,) = group_trials(a_run(blocks=1), made, [])
    return {table.title: table for table in subject_tables(group)}


def cells(table: SubjectTable) -> list[tuple[str, ...]]:
    """The texts of each row, after the arm's layout."""
    columns = [[cell.text + cell.mark for cell in column.cells] for column in table.columns]
    return [(arm.layout, *row) for arm, *row in zip(table.arms, *columns, strict=True)]


def test_predictions_have_a_row_for_each_layout() -> None:
    usual = Reading(Metric.LEAF_PAGES, 1234.0, "modelled", "By the planned order.", MODEL)
    table = tables(usual)["Predicted by the page model"]
    assert cells(table) == [(layout, "1,234m") for layout in FEW]
    assert table.note == "By the planned order."


@pytest.mark.parametrize("server", ["embedded", "model"])
def test_without_readings_there_is_no_table(server: str) -> None:
    assert tables(server=server) == {}
