"""A trial whose keys the server makes.

Neither the keys nor the order in which they are made is known beforehand. So the keys are read back and counted, and
there are no look-ups, no prediction and no positions.
"""

from __future__ import annotations

from collections.abc import Sequence

from keybench.databases.contract.engine import Engine
from keybench.databases.contract.roles import Admin
from keybench.model.metric import Metric
from keybench.model.reading import Reading
from keybench.results.store.blobs import Blob
from keybench.runners.measuring import shards
from keybench.runners.measuring.arrival_order import Recorder
from keybench.runners.measuring.measured import Measured
from keybench.runners.planning.trial_server import Target
from keybench.runners.trials import verify
from keybench.runners.trials.server_trial import FinishedLoad, ServerTrial

_READS = (Metric.POINT_UNIFORM_US, Metric.POINT_RECENT_US, Metric.RANGE_US_PER_ROW)
_NO_READS = "The server made the keys: there is no list of them in order of arrival to choose from."


class ServerKeysTrial(ServerTrial):
    """A trial on a server that makes the keys."""

    def recorders(self, admin: Admin) -> Sequence[Recorder]:  # noqa: ARG002 (there is no planned order to compare with)
        """Nothing."""
        return ()

    def verify(self, admin: Admin) -> None:
        """VerificationError unless the table holds as many keys as rows were sent, all different."""
        for one in self.tables:
            verify.check_distinct(self.plan.rows, admin.stored_keys(one.table))

    def read(self, target: Target, admin: Admin) -> tuple[list[Reading], list[Blob]]:  # noqa: ARG002 (no look-ups)
        """The page map, and the reason why there are no look-ups if the scenario asks for some."""
        asked = self.request.scenario.after.reads
        return list(Reading.absent(_READS, _NO_READS)) if asked else [], self.page_maps(admin)

    def predict(self, on: Engine, load: FinishedLoad) -> Measured:  # noqa: ARG002 (a page model needs the keys)
        """What was measured."""
        return Measured(shards.together(load.of_tables))
