"""What is said of a table that exists, beside servers on which it happens: 300,000 rows, then 100,000."""

from collections.abc import Iterator

import pytest

from keybench.advice.figure import Figure
from keybench.advice.how_to.existing import Option, options
from keybench.advice.load import Growth, keys_of
from keybench.databases.contract_suite.bench import Bench, open_bench
from keybench.databases.contract_suite.servers import Servers
from keybench.databases.registry import engine
from keybench.model.keys import Keys
from keybench.pagemodels.costs.contract import Server

pytestmark = [pytest.mark.long, pytest.mark.timeout(900)]

THERE, COME = 300_000, 100_000
OTHER_KEYS = 99
"""The seed of the server's keys, which are not those of the model."""


@pytest.fixture(params=[("postgresql", "local"), ("mariadb", "local"), ("sqlite", "embedded")], ids=lambda at: at[0])
def bench(request: pytest.FixtureRequest, servers: Servers) -> Iterator[Bench]:
    name, kind = request.param
    yield from open_bench(engine(name), servers.address(engine(name), kind))


def test_a_server_has_the_leaves_that_were_foretold(bench: Bench) -> None:
    on = bench.engine
    column = on.default_column("uuid")
    table = bench.table(column, payload=100)
    old, new = (keys_of(name, Growth(THERE + COME, 100.0), OTHER_KEYS)[0] for name in ("uuid-v4", "uuid-v7"))
    ways = options(
        on,
        table,
        "uuid-v4",
        THERE,
        "uuid-v7",
        COME,
        rows_per_second=100.0,
        new_column=column,
        server=Server(cache_bytes=1 << 30),
        switched="uuid-v7",
    )
    foretold = {each.name: each for each in ways}
    assert {each.leaf_pages.kind for each in foretold.values()} == {"scaled"}

    def leaves() -> int:
        found = bench.admin.page_order(table)
        return len(found.numbers)

    def began(keys: Keys, *, rebuilt: bool) -> int:
        bench.admin.create(table)
        bench.send(table, keys[:THERE])
        if rebuilt:
            bench.admin.rebuild(table, on.default_fill)
        return leaves()

    def ended(keys: Keys, *, rebuilt: bool = False) -> int:
        bench.send(table, keys[THERE:], start=THERE)
        if rebuilt:
            bench.admin.rebuild(table, on.default_fill)
        return leaves()

    lives: list[tuple[str, Keys, bool]] = [
        ("stay", old, False),
        ("switch", Keys.concat([old[:THERE], new[THERE:]]), False),
        ("switch-rebuild-now", Keys.concat([old[:THERE], new[THERE:]]), True),
        ("convert", new, True),
    ]
    found: list[tuple[str, Figure, int]] = []
    for name, keys, rebuilt in lives:
        option: Option = foretold[name]  # type: ignore[index]
        found.append((f"{name}, before", option.before, began(keys, rebuilt=rebuilt)))
        found.append((name, option.leaf_pages, ended(keys)))
        if name == "switch":
            later = foretold["switch-rebuild-later"]
            found.append((later.name, later.leaf_pages, ended(keys[:THERE], rebuilt=True)))
    bench.admin.drop(table)
    assert [each for each in found if not each[1].low <= each[2] <= each[1].high] == []
