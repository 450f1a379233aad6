"""The parameters of the suite, and its fixtures."""

from collections.abc import Iterable, Iterator

import pytest

from keybench.databases.contract.engine import Engine
from keybench.databases.contract_suite.bench import Bench, open_bench
from keybench.databases.contract_suite.places import CONTAINER, Place, places
from keybench.databases.contract_suite.servers import Servers, base, servers  # noqa: F401 (fixtures)
from keybench.model.column import Column
from keybench.model.table import ServerKeys


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Gives each test its servers.

    `place` is every server on which the suite runs. `private` is only the servers that keybench starts, without
    containers, whose processes the tests cannot kill. `column`, `native` and `made` add each column, each native
    column, and each layout that the engine's server makes.
    """
    wanted = {"place", "private", "column", "native", "made"} & set(metafunc.fixturenames)
    if not wanted:
        return
    chosen = [place for place in places() if not ("private" in wanted and (place.is_url or place.server == CONTAINER))]
    for name in ("column", "native", "made"):
        if name in wanted:
            pairs = [(place, value) for place in chosen for value in _declared(place.engine, name)]
            ids = [f"{place}-{value.name}" for place, value in pairs]
            metafunc.parametrize(("place", name), pairs, ids=ids)
            return
    metafunc.parametrize("private" if "private" in wanted else "place", chosen, ids=str)


def _declared(engine: Engine, name: str) -> Iterable[Column | ServerKeys]:
    """The values of the parameter `name` (`column`, `native` or `made`) for an engine."""
    return engine.server_keys if name == "made" else (c for c in engine.columns if name == "column" or c.native)


@pytest.fixture
def bench(place: Place, servers: Servers) -> Iterator[Bench]:  # noqa: F811 (a fixture)
    """The server of the place, shared by all tests."""
    yield from open_bench(place.engine, servers.address(place.engine, place.server))


@pytest.fixture
def integers(bench: Bench) -> Column:
    """The engine's first column for integers."""
    columns = [column for column in bench.engine.columns if "int" in column.kinds]
    return columns[0] if columns else pytest.skip(f"{bench.engine.title} declares no column for integers")


@pytest.fixture
def guids(bench: Bench) -> Column:
    """The engine's native column for GUIDs."""
    columns = [column for column in bench.engine.columns if "uuid" in column.kinds and column.native]
    return columns[0] if columns else pytest.skip(f"{bench.engine.title} declares no native column for GUIDs")
