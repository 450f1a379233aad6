"""Phases of a group's trials."""

from keybench.model.metric import Metric
from keybench.model.reading import Reading
from keybench.model.subject import Subject, SubjectKind
from keybench.results.analysis.arms import Arm
from keybench.results.analysis.groups import insertions, phases_of, splits_per_thousand

Values = dict[tuple[Metric, Subject], float]


def arm(values: Values) -> Arm:
    """An arm of one block with these values."""
    made = Arm("postgresql", "embedded", "uuid", "uuid-v4", 0, ())
    readings: dict[Subject, dict[Metric, dict[int, Reading]]] = {}
    for (metric, subject), value in values.items():
        readings.setdefault(subject, {})[metric] = {1: Reading(metric, value, "measured", "", subject)}
    made.__dict__["readings"] = readings
    return made


def of(kind: SubjectKind, name: str, **values: float) -> Values:
    return {(Metric(metric), Subject(kind, name)): value for metric, value in values.items()}


def test_phases_come_in_their_order() -> None:
    one = arm(
        {
            (Metric.LEAF_PAGES, Subject(SubjectKind.PHASE, name)): 1.0
            for name in ("10 insert", "2 delete", "1 build", "3 insert")
        }
    )
    assert phases_of(one) == ["1 build", "2 delete", "3 insert", "10 insert"]
    assert insertions(one) == ["3 insert", "10 insert"]


def test_splits_that_move_rows_are_counted_for_each_thousand_rows() -> None:
    rows = of(SubjectKind.PHASE, "1 insert", phase_rows=4000)
    server = of(SubjectKind.PHASE, "1 insert", appends=50, edge_splits=3, interior_splits=5)
    model = of(SubjectKind.MODEL_PHASE, "1 insert", edge_splits=4, interior_splits=8)
    together = of(SubjectKind.PHASE, "1 insert", edge_and_interior_splits=6)
    assert splits_per_thousand(arm(rows | server | model), "1 insert") == 2
    assert splits_per_thousand(arm(rows | together), "1 insert") == 1.5
    assert splits_per_thousand(arm(rows | model), "1 insert") == 3
    assert splits_per_thousand(arm(rows), "1 insert") is None
