"""Rows in planned order."""

from __future__ import annotations

import numpy as np

from keybench.runners.planning.trial_tables import keys_in_order, writers_in_order
from keybench.scenarios.files import load_scenario
from tests.runners.planning.test_trial_tables import sources


def test_each_row_has_the_writer_that_makes_its_key() -> None:
    own = sources(load_scenario("azure-lag"), "uuid-v7")
    keys, writers = keys_in_order(own), writers_in_order(own)
    assert len(writers) == len(keys) == 400
    for number, source in enumerate(own):
        assert np.array_equal(keys.data[writers == number], source.stream().take(source.writer.rows).data)
