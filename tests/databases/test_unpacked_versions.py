"""Servers of the versions that `scripts/versions.sh` unpacked: each load has the pages of the page model."""

from pathlib import Path

import pytest

from benchmarks import streams
from benchmarks.fidelity import compared
from benchmarks.fidelity_table import counts, heading
from keybench.databases.contract_suite.servers import using_programs_in
from keybench.databases.hosting import private_server
from keybench.databases.registry import engine

ROWS = 10_000
FOUND = [(name, folder) for name in ("postgresql", "mariadb") for folder in private_server.unpacked_folders(name)]

pytestmark = pytest.mark.long


@pytest.mark.skipif(not FOUND, reason="sh scripts/versions.sh unpacks further versions")
@pytest.mark.parametrize(("name", "folder"), FOUND, ids=lambda part: part.parent.name if isinstance(part, Path) else "")
def test_the_indexes_on_a_server_of_that_version_are_those_of_the_model(name: str, folder: Path) -> None:
    on = engine(name)
    with using_programs_in(name, folder):
        server = on.provision("local", on.settings("fast", "small"))
    try:
        address = server.start()
        admin = on.admin(address)
        version = admin.versions()[name]
        admin.close()
        assert version.startswith(folder.parent.name.partition("-")[2])
        lines = [line for line, _ in compared(on, address, ROWS, streams.STREAMS)]
    finally:
        server.stop()
    ((_, loads),) = counts("\n".join([heading(on.title, "1", "local", ROWS), *lines])).items()
    assert set(loads) == set(streams.STREAMS)
    assert {stream: equal for stream, (equal, _) in loads.items()} == {
        stream: all_ for stream, (_, all_) in loads.items()
    }
