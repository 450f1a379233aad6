"""SQL Server's declaration, its options, and why it cannot be started."""

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest

from keybench.databases.mssql import container, ddl
from keybench.databases.mssql.engine import ENGINE
from keybench.databases.mssql.settings import options
from keybench.errors import UsageError
from keybench.model.byteorder import PERMUTATIONS
from keybench.model.keys import Keys
from tests.errors import raised


def test_uniqueidentifier_and_its_stand_in_store_what_sorts_alike() -> None:
    keys = Keys(np.arange(32, dtype=np.uint8).reshape(2, 16), "uuid")
    stored = ENGINE.column("binary16-mssql").encode(keys)
    assert stored[0].tolist() == list(PERMUTATIONS["mssql"]) == [10, 11, 12, 13, 14, 15, 8, 9, 7, 6, 5, 4, 3, 2, 1, 0]
    assert ENGINE.column("uniqueidentifier").order == "mssql"


@pytest.fixture
def daemon(monkeypatch: pytest.MonkeyPatch) -> None:
    """A daemon that answers, so that the tests reach the checks of machine and licence."""
    monkeypatch.setattr("keybench.databases.hosting.docker_daemon.unreachable", lambda: "")
    for variable in ("ACCEPT_EULA", container.ACCEPTED):
        monkeypatch.delenv(variable, raising=False)


@pytest.mark.usefixtures("daemon")
def test_the_licence_is_never_accepted_silently(monkeypatch: pytest.MonkeyPatch) -> None:
    assert ENGINE.missing("container") == (
        "SQL Server's container needs you to accept Microsoft's licence terms "
        "(https://go.microsoft.com/fwlink/?linkid=857698): read them, then add --accept-eula mssql or set "
        "ACCEPT_EULA=Y."
    )
    for variable, value in (("ACCEPT_EULA", "Y"), ("ACCEPT_EULA", "yes"), (container.ACCEPTED, "oracle, mssql")):
        with monkeypatch.context() as accepting:
            accepting.setenv(variable, value)
            assert ENGINE.missing("container") == ""
    for variable, value in (("ACCEPT_EULA", "N"), (container.ACCEPTED, "oracle")):
        with monkeypatch.context() as refusing:
            refusing.setenv(variable, value)
            assert "licence terms" in ENGINE.missing("container")


@pytest.mark.usefixtures("daemon")
def test_on_an_arm_machine_the_message_says_that_the_image_is_for_amd64(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("platform.machine", lambda: "aarch64")
    assert ENGINE.missing("container") == (
        "Microsoft's image of SQL Server is made for amd64 alone, and this machine is aarch64: start it where that is "
        "emulated or on another machine, and give its URL as --server mssql://…"
    )


@pytest.mark.usefixtures("daemon")
def test_less_than_two_gigabytes_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("psutil.virtual_memory", lambda: SimpleNamespace(total=1_900_000_000))
    assert ENGINE.missing("container") == (
        "SQL Server refuses to start with less than 2,000 MB of memory, and there are 1,900 MB: give it more, or use a "
        "server elsewhere by --server mssql://…"
    )


@pytest.mark.usefixtures("daemon")
def test_no_container_is_made_without_the_licence_or_with_too_little_memory(monkeypatch) -> None:
    from keybench.databases.contract.settings import ContainerOptions
    from keybench.errors import EnvironmentMissing

    chosen = ENGINE.settings("durable", "small")
    with pytest.raises(EnvironmentMissing, match="licence terms"):
        ENGINE.provision("container", chosen)
    monkeypatch.setenv("ACCEPT_EULA", "Y")
    small = replace(chosen, container=ContainerOptions(memory_bytes=1_500_000_000))
    with pytest.raises(EnvironmentMissing, match=r"less than 2,000 MB of memory, and there are 1,500 MB"):
        ENGINE.provision("container", small)


@pytest.mark.usefixtures("daemon")
def test_a_driver_that_is_not_installed_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ACCEPT_EULA", "Y")
    monkeypatch.setattr("keybench.databases.mssql.connection.installed", lambda: False)
    assert ENGINE.missing("container") == (
        "SQL Server needs a driver: pip install 'keybench[mssql]' (mssql-python, with Microsoft's ODBC driver)."
    )


def test_options_come_from_a_url_then_the_environment_then_the_defaults(monkeypatch: pytest.MonkeyPatch) -> None:
    assert options({"host": "h"}) == options({})
    monkeypatch.setenv("KEYBENCH_MSSQL_FILL_FACTOR", "80")
    monkeypatch.setenv("KEYBENCH_MSSQL_BENEATH", "clustered")
    assert options({"fill_factor": "90"}) == options({"fill_factor": "90", "beneath": "clustered"})


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"encrypt": "strict"}, "encrypt of SQL Server is one of yes, no, not 'strict'."),
        ({"fill_factor": "0"}, "fill_factor of SQL Server is a whole number from 1 to 100, not '0'."),
        ({"pad_index": "yes"}, "pad_index of SQL Server is one of off, on, not 'yes'."),
    ],
)
def test_an_option_that_is_no_choice_is_refused(given: dict[str, str], message: str) -> None:
    assert raised(UsageError, options, given) == message


@pytest.mark.parametrize(
    ("column", "payload", "versioning", "row"),
    [("uniqueidentifier", 100, "off", 123), ("bigint", 100, "off", 115), ("char36", 100, "off", 143),
     ("uniqueidentifier", 100, "rcsi", 137), ("uniqueidentifier", 100, "adr", 137)],
)  # fmt: skip
def test_rows_are_as_wide_as_microsofts_arithmetic_says(column: str, payload: int, versioning: str, row: int) -> None:
    chosen = options({"row_versioning": versioning})
    assert ddl.leaf_row(ENGINE.column(column), payload, "clustered", chosen) == row
    index, whole = ddl.bytes_per_row(ENGINE.column(column), payload, "clustered", chosen)
    assert index == 8192 / (8096 // (row + 2))
    assert index < whole


def test_a_leaf_of_a_nonclustered_key_is_as_wide_as_published() -> None:
    """202 rows a page, as 5,000 rows of a guid over a clustered key with version tags took 25 pages (efcore #33579):
    there the clustered key was an int of 4 bytes, here it is a bigint."""
    column = ENGINE.column("uniqueidentifier")
    row = ddl.leaf_row(column, 100, "nonclustered", options({"row_versioning": "rcsi"})) - 4
    assert (row, 8096 // (row + 2)) == (38, 202)


def test_a_second_identity_in_a_table_is_refused() -> None:
    from keybench.databases.mssql import ddl
    from keybench.model.table import Table

    table = Table("rows", ENGINE.column("bigint"), 10, "nonclustered", ddl.SERVER_KEYS[0])
    with pytest.raises(UsageError, match=r"second IDENTITY column: leave KEYBENCH_MSSQL_BENEATH at heap\.$"):
        ddl.create(table, options({"beneath": "clustered"}))
    assert "IDENTITY NOT NULL" in ddl.create(table, options({}))
