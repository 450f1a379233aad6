"""The verdict on each question, from the recorded trials of its loads."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from keybench.databases.contract.engine import Engine
from keybench.databases.contract.questions import Outcome, Question, QuestionLoad, Verdict
from keybench.results.store.records import Trial
from keybench.runners.planning.trial_plan import Request, TrialPlan
from keybench.runners.trials.server_trial import trial_for_judges

WORDS: Mapping[Outcome, str] = {"equal": "equal", "differs": "differs", "not measured": "could not be measured"}

_Located = tuple[str, Verdict]
"""The layout and column of a trial, and what the trial says."""


@dataclass(frozen=True)
class LoadProgress:
    """A load as far as it has been measured: its trials as `planned`, and the `trials` recorded so far."""

    request: Request
    run_id: str
    """Empty if it has not begun."""
    planned: Sequence[TrialPlan]
    trials: Sequence[Trial]


@dataclass(frozen=True)
class QuestionVerdict:
    """The verdict on a question, from all its trials."""

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
        evidence = f": {self.evidence}" if self.evidence else ""
        count = f" ({self.trials} trial{'' if self.trials == 1 else 's'})" if self.trials else ""
        return f"{WORDS[self.outcome]}: {self.question.statement}{count}{evidence}"


def verdicts(on: Engine, loads: Mapping[QuestionLoad, LoadProgress]) -> list[QuestionVerdict]:
    """A verdict on each question of the engine, in the engine's order."""
    return [_on_question(question, [loads[load] for load in question.loads]) for question in on.questions]


def _on_question(question: Question, loads: Sequence[LoadProgress]) -> QuestionVerdict:
    """The verdict on one question, from the trials of the loads that it names."""
    answers: list[_Located] = []
    failures: list[_Located] = []
    for load in loads:
        plans = {(plan.block, plan.position): plan for plan in load.planned}  # recorded trials have both numbers
        for trial in load.trials:
            planned = plans[trial.block, trial.position]
            where = f"{planned.layout} in {planned.column}"
            if trial.status == "error":
                failures.append((where, Verdict("not measured", f"the trial failed: {trial.error}")))
            elif (verdict := question.judge(trial_for_judges(load.request, planned, trial))) is not None:
                answers.append((where, verdict))
    if question.every_trial:  # a failed trial leaves such a question open
        answers += failures
    missing = sum(len(load.planned) - len(load.trials) for load in loads)
    outcome, evidence = _combined(answers or failures, missing, every_trial=question.every_trial)
    trials = sum(verdict.outcome != "not measured" for _, verdict in answers)
    return QuestionVerdict(question, outcome, evidence, trials, bool(failures) and question.every_trial)


def _combined(answers: Sequence[_Located], missing: int, *, every_trial: bool) -> tuple[Outcome, str]:
    """(the outcome, the evidence) of all trials together: what differs comes first, then what is missing. `missing`
    trials have not run. `every_trial`: whether one trial that could not be measured leaves the question open."""
    by_outcome: dict[Outcome, list[_Located]] = {"equal": [], "differs": [], "not measured": []}
    for where, verdict in answers:
        by_outcome[verdict.outcome].append((where, verdict))
    if by_outcome["differs"]:
        return "differs", _first(by_outcome["differs"], len(answers))
    if missing:
        return "not measured", f"{missing:,} trials have not run" if answers else "its load has not run"
    if by_outcome["not measured"] and (every_trial or not by_outcome["equal"]):
        return "not measured", _first(by_outcome["not measured"], len(answers))
    if not by_outcome["equal"]:
        return "not measured", "no trial shows it"
    notes = list(dict.fromkeys(f"{where}: {one.evidence}" for where, one in by_outcome["equal"] if one.evidence))
    if by_outcome["not measured"]:
        notes.append(f"not measured in {_first(by_outcome['not measured'], len(answers))}")
    return "equal", "; ".join(notes)


def _first(answers: Sequence[_Located], total: int) -> str:
    """The first of these answers with its layout and column, and how many of the `total` trials answer so."""
    where, verdict = answers[0]
    more = f"; {len(answers)} of {total} trials" if len(answers) > 1 else ""
    return f"{where}: {verdict.evidence}{more}"
