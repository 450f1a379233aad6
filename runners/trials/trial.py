"""A trial: measured once, and recorded whatever happens.

The kinds of trial are classes of their own (`ServerTrial`, `ServerKeysTrial`, `ModelTrial`, `KeysTrial`). Each has
those of the steps load, verify, read and predict that make sense for it; `runners.trials.kinds` chooses the kind.
"""

import time
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime

from keybench.errors import EnvironmentMissing, KeybenchError, RunStopped, ServerGone, unexpected
from keybench.results.store import records
from keybench.runners.measuring.measured import Measurements
from keybench.runners.planning.trial_plan import Request, TrialPlan


class TrialRunner(ABC):
    """One trial of a run."""

    server: str
    """The server kind as it is recorded."""

    def __init__(self, request: Request, plan: TrialPlan) -> None:
        self.request, self.plan = request, plan
        self.server = request.servers.get(plan.database, "")

    @abstractmethod
    def measure(self) -> Measurements:
        """The steps of this kind of trial; any exception is the trial's error."""

    def identify(self, record: records.Trial) -> records.Trial:
        """The record under the names by which this kind of trial is stored."""
        return replace(record, server=self.server)

    def warnings(self, record: records.Trial) -> Sequence[str]:  # noqa: ARG002 (other kinds look at it)
        """Sentences to be stored with the run, for readers of its results."""
        return ()

    def run(self) -> records.Trial:
        """Measures; the record, without readings after an error. RunStopped and interruptions are raised."""
        request, plan = self.request, self.plan
        started, clock = datetime.now(UTC), time.monotonic()
        error, trace, measured = "", "", Measurements(())
        try:
            measured = self.measure()
            trace = measured.traceback  # of a prediction that failed: the trial is good all the same
        except RunStopped:
            raise
        except (EnvironmentMissing, ServerGone) as problem:
            error, trace = f"{problem}{records.REPEATED}", problem.traceback  # --resume tries it again
        except KeybenchError as problem:
            error, trace = str(problem), problem.traceback
        except MemoryError:
            error = f"memory ran out: use fewer --rows than {plan.rows:,}, or a machine with more memory."
        except Exception as problem:  # the run goes on
            defect = unexpected(problem)
            error, trace = str(defect), defect.traceback
        return self.identify(
            records.Trial(
                block=plan.block,
                position=plan.position,
                database=plan.database,
                server="",  # filled in by `identify`
                column=plan.column,
                layout=plan.layout,
                scenario=request.scenario.name,
                payload=plan.payload,
                rows=plan.rows,
                writers=len(request.scenario.writer),
                rows_per_tx=request.scenario.load.rows_per_tx,
                started=started,
                seconds=time.monotonic() - clock,
                status="error" if error else "ok",
                error=error,
                traceback=trace,
                readings=tuple(measured.readings),
                series=tuple(measured.series),
                blobs=tuple(measured.blobs) if plan.drawn else (),
            )
        )
