"""An index that was deleted from, cleaned, filled again and rebuilt is that of the page model, page for page."""

from __future__ import annotations

import pytest

from keybench.model.column import Column
from keybench.testing.contract.bench import Bench
from keybench.testing.contract.keys import increasing, lagging, random
from keybench.testing.contract.past import both, history

STREAMS = {"increasing": increasing, "random": random, "lagging": lagging}


@pytest.mark.parametrize("stream", ["increasing", "random"])
def test_an_index_with_a_past_is_that_of_the_model(bench: Bench, guids: Column, stream: str) -> None:
    rows = 20_000
    with both(bench, guids, STREAMS[stream](2 * rows)) as it:
        history(it, rows)


@pytest.mark.long
@pytest.mark.parametrize("stream", STREAMS)
def test_a_million_rows_with_a_past_are_those_of_the_model(bench: Bench, guids: Column, stream: str) -> None:
    rows = 1_000_000
    with both(bench, guids, STREAMS[stream](2 * rows)) as it:
        history(it, rows)
