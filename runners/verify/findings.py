"""The verdict on each question, from the recorded trials of its loads."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from keybench.databases.contract.engine import Engine
from keybench.databases.contract.questions import Answer, Load, Outcome, Question, SeenTrial
from keybench.results.store.database import Store
from keybench.results.store.records import Trial
from keybench.runners.planning.trial_plan import Request, TrialPlan, plan

WORDS: Mapping[Outcome, str] = {
    "equal": "equal",
    "differs": "differs",
    "not measured": "could not be measured",
}
_NOT_YET = "its load has not run"


@dataclass(frozen=True)
class LoadState:
    """A load, as far as it has been measured. `trials` are those recorded of the trials `planned`."""

    request: Request
    run_id: str
    planned: Sequence[TrialPlan]
    trials: Sequence[Trial]

    @classmethod
    def of(cls, request: Request, run_id: str, store: Store) -> LoadState:
        """The state of a load that is recorded under that id; with an empty id, of one that has not begun."""
        return cls(request, run_id, plan(request), store.trials(run_id) if run_id else ())


@dataclass(frozen=True)
class Finding:
    """The verdict on a question."""

    question: Question
    outcome: Outcome
    evidence: str
    """What differs, or why it could not be measured; where it is equal, what is worth knowing, often nothing."""
    trials: int
    """Trials that showed it."""
    failed: bool
    """Whether a trial that it needs failed."""

    @property
    def line(self) -> str:
        """The verdict in one line."""
        told = f": {self.evidence}" if self.evidence else ""
        count = f" ({self.trials} trial{'' if self.trials == 1 else 's'})" if self.trials else ""
        return f"{WORDS[self.outcome]}: {self.question.statement}{count}{told}"


def findings(on: Engine, loads: Mapping[Load, LoadState]) -> list[Finding]:
    """One for each question of the engine, in its order."""
    return [_finding(question, [loads[load] for load in question.loads]) for question in on.questions]


def _finding(question: Question, states: Sequence[LoadState]) -> Finding:
    answers: list[tuple[str, Answer]] = []
    failures: list[tuple[str, Answer]] = []
    for state in states:
        plans = {(one.block, one.position): one for one in state.planned}
        for trial in state.trials:
            planned = plans[trial.block, trial.position]
            where = f"{planned.layout} in {planned.column}"
            if trial.status == "error":
                failures.append((where, Answer("not measured", f"the trial failed: {trial.error}")))
            elif (answer := question.judge(_seen(state.request, planned, trial))) is not None:
                answers.append((where, answer))
    if question.every_trial:
        answers += failures
    missing = sum(len(state.planned) - len(state.trials) for state in states)
    outcome, evidence = _verdict(answers or failures, missing, every=question.every_trial)
    shown = sum(answer.outcome != "not measured" for _, answer in answers)
    return Finding(question, outcome, evidence, shown, bool(failures) and question.every_trial)


def _seen(request: Request, planned: TrialPlan, trial: Trial) -> SeenTrial:
    return SeenTrial(planned.layout, planned.table(request.scenario), trial.rows, trial.writers, trial.readings)


def _verdict(answers: Sequence[tuple[str, Answer]], missing: int, *, every: bool) -> tuple[Outcome, str]:
    """(the outcome, the evidence) of all trials together. `missing` trials have not run."""
    by: dict[Outcome, list[tuple[str, Answer]]] = {"equal": [], "differs": [], "not measured": []}
    for where, answer in answers:
        by[answer.outcome].append((where, answer))
    if by["differs"]:
        return "differs", _told(by["differs"], len(answers))
    if missing:
        return "not measured", f"{missing:,} trials have not run" if answers else _NOT_YET
    if by["not measured"] and (every or not by["equal"]):
        return "not measured", _told(by["not measured"], len(answers))
    if not by["equal"]:
        return "not measured", "no trial shows it"
    seen = list(dict.fromkeys(f"{where}: {one.evidence}" for where, one in by["equal"] if one.evidence))
    if by["not measured"]:
        seen.append(f"not measured in {_told(by['not measured'], len(answers))}")
    return "equal", "; ".join(seen)


def _told(answers: Sequence[tuple[str, Answer]], of: int) -> str:
    """The first of these answers, and how many there are among all."""
    where, first = answers[0]
    more = f"; {len(answers)} of {of} trials" if len(answers) > 1 else ""
    return f"{where}: {first.evidence}{more}"
