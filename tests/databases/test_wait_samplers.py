"""How samples of connections become shares of waits."""

from keybench.databases.core.probes import NOBODY, WaitSamples
from keybench.model.metric import Metric
from keybench.model.subject import Subject


def test_shares_of_all_samples() -> None:
    samples = WaitSamples()
    samples.add([("client", 3), ("PAGELATCH_EX", 1)])
    samples.add([("PAGELATCH_EX", 4)])
    found = {reading.subject: (reading.value, reading.reason) for reading in samples.shares()}
    assert found == {Subject.wait("PAGELATCH_EX"): (62.5, "2 samples"), Subject.wait("client"): (37.5, "2 samples")}


def test_no_connection_seen_is_said() -> None:
    (absent,) = WaitSamples().shares()
    assert (absent.metric, absent.value, absent.reason) == (Metric.WAITING, None, NOBODY)
