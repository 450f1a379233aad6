"""A million rows with a past on every server that can be started here are those of the page model."""

from collections.abc import Iterator

import pytest

from benchmarks import streams
from keybench.databases.contract_suite.bench import Bench, open_bench
from keybench.databases.contract_suite.past import both, history, read_and_continued
from keybench.databases.contract_suite.places import CONTAINER, Place, places
from keybench.databases.contract_suite.servers import Servers
from keybench.model.column import Column

pytestmark = pytest.mark.long

ROWS = 1_000_000
HERE = [place for place in places() if place.server != CONTAINER and not place.engine.missing(place.server)]


@pytest.fixture(params=HERE, ids=str)
def bench(request: pytest.FixtureRequest, servers: Servers) -> Iterator[Bench]:
    place: Place = request.param
    yield from open_bench(place.engine, servers.address(place.engine, place.server))


STREAMS = ["increasing", "random", "descending", "4 lagging by 0.5 %"]


def column_of(bench: Bench, kind: str) -> Column:
    column = next(column for column in bench.engine.columns if column.native and kind in column.kinds)
    return column if column.width else column.sized(32)


@pytest.mark.parametrize("stream", STREAMS)
@pytest.mark.parametrize("kind", ["uuid", "int", "text"])
def test_a_million_rows_with_a_past_are_those_of_the_model(bench: Bench, kind: str, stream: str) -> None:
    column = column_of(bench, kind)
    with both(bench, column, streams.keys(streams.STREAMS[stream](2 * ROWS), column)) as it:
        history(it, ROWS)


@pytest.mark.parametrize("stream", STREAMS)
@pytest.mark.parametrize("kind", ["uuid", "int"])
def test_a_model_goes_on_from_a_million_rows_on_a_server(bench: Bench, kind: str, stream: str) -> None:
    column = column_of(bench, kind)
    with both(bench, column, streams.keys(streams.STREAMS[stream](2 * ROWS), column)) as it:
        read_and_continued(it, ROWS)
