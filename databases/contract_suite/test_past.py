"""An index that was deleted from, cleaned, filled again and rebuilt is that of the page model, page for page."""

import pytest

from keybench.databases.contract_suite.bench import Bench
from keybench.databases.contract_suite.keys import increasing, random
from keybench.databases.contract_suite.past import both, history, read_and_continued
from keybench.model.column import Column

ROWS = 20_000
STREAMS = {"increasing": increasing, "random": random}


@pytest.mark.parametrize("stream", STREAMS)
def test_an_index_with_a_past_is_that_of_the_model(bench: Bench, guids: Column, stream: str) -> None:
    with both(bench, guids, STREAMS[stream](2 * ROWS)) as it:
        history(it, ROWS)


@pytest.mark.parametrize("stream", STREAMS)
def test_a_model_goes_on_from_an_index_on_a_server(bench: Bench, guids: Column, stream: str) -> None:
    with both(bench, guids, STREAMS[stream](ROWS)) as it:
        read_and_continued(it, ROWS // 2)
