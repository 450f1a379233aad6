"""Questions about adapters that no live server has confirmed: the checks of `self_check`, asked of several trials."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from keybench.databases.contract.engine import Verdict
from keybench.databases.contract.questions import Answer, Load, Question, SeenTrial
from keybench.databases.core import self_check
from keybench.model.metric import Metric
from keybench.model.subject import SubjectKind

_TELLING = 1.1
"""Variants of the page model are told apart by trials for which they differ by this factor, in leaf pages."""
_NEAR = 0.02
_SORTED_DENSITY = 80.0
"""Leaf density, in %, that random keys reach only if they were sorted before they were inserted: else it is near 69."""

Check = Callable[[SeenTrial], Iterable[Verdict]]


def of_check(check: Check, *endings: str) -> Callable[[SeenTrial], Answer | None]:
    """A judge made of a check; of its verdicts, those on questions with one of these `endings`, if any are given.

    What a check has merely `seen` is something that the documentation leaves open: it differs from nothing.
    """

    def judge(trial: SeenTrial) -> Answer | None:
        given = [one for one in check(trial) if not endings or one.question.endswith(endings)]
        if not given:
            return None
        wrong = [one for one in given if one.outcome == "does not hold"]
        chosen = (wrong or given)[0]
        told = bool(wrong) or chosen.outcome == "seen"
        return Answer("differs" if wrong else "equal", f"measured {chosen.evidence}" if told else "")

    return judge


def in_order_of_sending(*loads: Load) -> Question:
    """Whether arrays of parameters are single inserts."""
    return Question(
        "rows are inserted in the order in which they are sent, not sorted",
        "Rows travel in arrays of parameters. A server that sorted them would leave full pages where random keys leave "
        "69 %, and every layout would look alike.",
        loads,
        of_check(lambda trial: self_check.order(trial.readings)),
    )


def all_appended(*loads: Load) -> Question:
    """The sizes of rows and pages, and the order of the columns."""
    return Question(
        "where keys ascend, the index has exactly the leaf pages of the page model",
        "It shows that the sizes of rows and pages are right, and that the column sorts as the adapter says: in "
        "another order the keys would not ascend.",
        loads,
        of_check(lambda trial: self_check.prediction(trial.readings, ()), ", all of them appended"),
    )


def nearly_predicted(*loads: Load) -> Question:
    """Where pages are split."""
    return Question(
        "where pages are split, the index has the leaf pages of the page model, to 5 %",
        "Where exactly the server splits a page is not documented, so the model cannot be exact here.",
        loads,
        of_check(lambda trial: self_check.prediction(trial.readings, ()), "has its leaf pages"),
    )


def rebuilt(load: Load) -> Question:
    """What a fill factor leaves on a page."""
    return Question(
        "after a rebuild at a fill factor, the index has exactly the leaf pages of the page model",
        "It shows how many rows a fill factor leaves on a page.",
        (load,),
        _after_phases(("rebuild",), 0.0),
    )


def with_a_past(load: Load) -> Question:
    """What becomes of deleted rows and of pages that they leave empty."""
    return Question(
        "after deletions and more inserts, the index has the leaf pages of the page model, to 5 %",
        "It shows what becomes of deleted rows, and of the pages that they leave empty: no document says all of it.",
        (load,),
        _after_phases(("insert", "delete", "clean"), self_check.NEAR),
    )


def _after_phases(what: Sequence[str], within: float) -> Callable[[SeenTrial], Answer | None]:
    """A judge that compares the leaf pages after each phase that does one of these with the model's."""

    def judge(trial: SeenTrial) -> Answer | None:
        known: dict[SubjectKind, dict[str, float]] = {SubjectKind.PHASE: {}, SubjectKind.MODEL_PHASE: {}}
        for one in trial.readings:
            if one.metric == Metric.LEAF_PAGES and one.subject.kind in known and one.value is not None:
                known[one.subject.kind][one.subject.name] = one.value
        real, model = known[SubjectKind.PHASE], known[SubjectKind.MODEL_PHASE]
        phases = [name for name in real if name in model and name.partition(" ")[2] in what]
        if not phases:
            return Answer("not measured", "the leaf pages after phases are not known, or not predicted")
        for name in phases:
            if abs(real[name] - model[name]) > (max(2.0, within * model[name]) if within else 0.0):
                told = f"measured {real[name]:,.0f} leaf pages, model {model[name]:,.0f}"
                return Answer("differs", f"after phase {name}: {told}")
        return Answer("equal")

    return judge


def one_of_the_variants(statement: str, meaning: str, *loads: Load) -> Question:
    """Which of the rules that the documentation leaves open is the server's (`Engine.model_variants`)."""
    return Question(statement, meaning, loads, _one_of_the_variants)


def _one_of_the_variants(trial: SeenTrial) -> Answer | None:
    real = trial.values().get(Metric.LEAF_PAGES)
    if real is None or real.value is None:
        return Answer("not measured", real.reason if real else "this server does not give the leaf pages")
    predicted = {
        one.subject.name: one.value
        for one in trial.readings
        if one.subject.kind == SubjectKind.MODEL and one.subject.name and one.metric == Metric.LEAF_PAGES and one.value
    }
    if not predicted or max(predicted.values()) < _TELLING * min(predicted.values()):
        return None
    nearest = min(predicted, key=lambda name: abs(predicted[name] - (real.value or 0.0)))
    counts = ", ".join(f"{name} {pages:,.0f}" for name, pages in predicted.items())
    if abs(real.value - predicted[nearest]) <= _NEAR * predicted[nearest]:
        return Answer("equal", f"{nearest}: measured {real.value:,.0f} leaf pages; {counts}")
    return Answer("differs", f"measured {real.value:,.0f} leaf pages, model: {counts}")


def made_keys_ascend(meaning: str, load: Load) -> Question:
    """Keys that the server makes, of which the engine says that they ascend."""
    return Question(
        "keys that the server makes in ascending order cause no splits that move rows",
        meaning,
        (load,),
        of_check(lambda trial: self_check.ascending(trial.table, trial.writers, trial.readings)),
    )


def sorted_in_bulk(load: Load) -> Question:
    """The load path that sorts."""
    return Question(
        "rows that are loaded in bulk are sorted first, so that random keys leave full pages",
        "It shows that the driver's bulk path works and is what reports call it.",
        (load,),
        _sorted_in_bulk,
    )


def _sorted_in_bulk(trial: SeenTrial) -> Answer | None:
    if trial.layout != "uuid-v4":
        return None
    density = trial.values().get(Metric.LEAF_DENSITY)
    if density is None or density.value is None:
        return Answer("not measured", density.reason if density else "this server does not give the leaf density")
    if density.value >= _SORTED_DENSITY:
        return Answer("equal", f"leaf density {density.value:.1f} %")
    return Answer("differs", f"measured leaf density {density.value:.1f} %, sorted rows have more than 80 %")
