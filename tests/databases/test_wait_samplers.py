"""How samples of connections become shares of waits."""

from keybench.databases.core.dbapi import DbApiConnection
from keybench.databases.core.probes import NOBODY, WaitSamples
from keybench.model.metric import Metric
from keybench.model.subject import Subject


class Listed(WaitSamples[DbApiConnection]):
    """Gives these samples."""

    def __init__(self, *samples: list[tuple[str, int]]) -> None:
        super().__init__(DbApiConnection(None))
        self._listed = iter(samples)

    def begin(self) -> None:
        pass

    def waits(self) -> list[tuple[str, int]]:
        return next(self._listed)


def test_shares_of_all_samples() -> None:
    samples = Listed([("client", 3), ("PAGELATCH_EX", 1)], [("PAGELATCH_EX", 4)])
    samples.sample()
    samples.sample()
    found = {reading.subject: (reading.value, reading.reason) for reading in samples.readings()}
    assert found == {Subject.wait("PAGELATCH_EX"): (62.5, "2 samples"), Subject.wait("client"): (37.5, "2 samples")}


def test_no_connection_seen_is_said() -> None:
    (absent,) = Listed().readings()
    assert (absent.metric, absent.value, absent.reason) == (Metric.WAITING, None, NOBODY)
