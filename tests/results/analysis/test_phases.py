"""Phases of a group's trials."""

from keybench.model.metric import Metric
from keybench.model.reading import Reading
from keybench.model.subject import Subject, SubjectKind
from keybench.results.analysis.arms import Arm
from keybench.results.analysis.groups import phases_of

Values = dict[tuple[Metric, Subject], float]


def arm(values: Values) -> Arm:
    made = Arm("postgresql", "embedded", "uuid", "uuid-v4", 0, ())
    readings: dict[Subject, dict[Metric, dict[int, Reading]]] = {}
    for (metric, subject), value in values.items():
        readings.setdefault(subject, {})[metric] = {1: Reading(metric, value, "measured", "", subject)}
    made.__dict__["readings"] = readings
    return made


def test_phases_come_in_their_order() -> None:
    one = arm(
        {
            (Metric.LEAF_PAGES, Subject(SubjectKind.PHASE, name)): 1.0
            for name in ("10 insert", "2 delete", "1 build", "3 insert")
        }
    )
    assert phases_of(one) == ["1 build", "2 delete", "3 insert", "10 insert"]
