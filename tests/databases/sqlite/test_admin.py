"""The embedded server: folder, settings, tables, and the end of its runner."""

from __future__ import annotations

import subprocess
import sys
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING

import apsw
import pytest

from keybench.databases.contract.roles import Address
from keybench.databases.sqlite.engine import ENGINE
from keybench.errors import ServerError, UsageError
from keybench.model.payload import Payload
from keybench.model.table import Table

if TYPE_CHECKING:
    from conftest import Bench


def test_it_loads_without_apsw_and_says_what_is_missing() -> None:
    code = """
import sys
class Refuse:
    def find_spec(self, name, path=None, target=None):
        if name == "apsw":
            raise ImportError(name)
sys.meta_path[:] = [Refuse(), *sys.meta_path]
from keybench.databases.sqlite import ENGINE
print(ENGINE.settings("durable", "small").cache_bytes, "apsw" in sys.modules)
sys.meta_path.pop(0)
import importlib.machinery, importlib.util
sys.path[:] = [p for p in sys.path if "site-packages" not in p]
print(ENGINE.missing("embedded"))
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd="/")
    small, missing = done.stdout.splitlines()
    assert small == f"{16 * 2**20} False"
    assert missing == "SQLite needs the Python package apsw: pip install apsw."


def test_other_server_kinds_are_refused() -> None:
    assert ENGINE.missing("embedded") == ""
    message = "SQLite has no container server, it runs inside the process: use --server embedded."
    assert ENGINE.missing("container") == message
    with pytest.raises(UsageError, match=f"^{message}$"):
        ENGINE.provision("container", ENGINE.settings("fast", "default"))


@pytest.mark.parametrize("cache", ["default", "small"])
@pytest.mark.parametrize("profile", ["durable", "fast"])
def test_settings_read_back_as_they_were_set(profile: str, cache: str) -> None:
    settings = ENGINE.settings(profile, cache)  # type: ignore[arg-type]
    provision = ENGINE.provision("embedded", settings)
    address = provision.start()
    try:
        admin = ENGINE.admin(address)
        read = admin.settings()
        assert {name: read[name] for name in settings.values} == settings.values
        assert list(Path(address.parameters["folder"]).glob("settings*")) == []
        table_settings = _of_a_loading_connection(address)
        assert table_settings == settings.values
        admin.close()
    finally:
        provision.stop()


def _of_a_loading_connection(address: Address) -> dict[str, str]:
    assert address.settings
    table = Table("rows", ENGINE.column("binary16"), 0)
    with closing(ENGINE.admin(address)) as admin:
        admin.create(table)
    with closing(ENGINE.session(address, table)) as session:
        connection = session._connection  # type: ignore[attr-defined]
        return {name: str(connection.pragma(name)) for name in address.settings.values}


def test_versions_name_the_library_in_use(bench: Bench) -> None:
    versions = bench.admin.versions()
    assert versions["SQLite"] == apsw.Connection(":memory:").execute("SELECT sqlite_version()").get
    assert versions["SQLite source"].endswith(
        apsw.Connection(":memory:").execute("SELECT sqlite_source_id()").get[-40:]
    )
    assert "THREADSAFE=" in versions["compile options"]


def test_create_replaces_and_drop_leaves_nothing(bench: Bench) -> None:
    folder = Path(bench.address.parameters["folder"])
    table = bench.table("binary16", 100)
    bench.load(table, bench.keys["random"](5000))
    assert (folder / "rows.sqlite").stat().st_size > 0
    bench.admin.create(bench.table("integer"))
    assert [len(part) for part in bench.admin.stored_keys(bench.table("integer"))] == []
    assert (folder / "rows.sqlite-wal").stat().st_size == 0
    bench.admin.drop(table)
    bench.admin.drop(table)
    assert not list(folder.glob("rows*"))


def test_settle_empties_the_wal(bench: Bench) -> None:
    table = bench.table("binary16", 100)
    bench.load(table, bench.keys["random"](5000))
    wal = Path(bench.address.parameters["folder"]) / "rows.sqlite-wal"
    assert wal.stat().st_size > 0
    bench.admin.settle(table)
    assert wal.stat().st_size == 0


def test_settle_is_an_error_while_another_connection_blocks_it(bench: Bench) -> None:
    table = bench.table("binary16")
    bench.load(table, bench.keys["random"](5000))
    reader = bench.session(table)._connection  # type: ignore[attr-defined]
    reader.execute("BEGIN")
    reader.execute("SELECT count(*) FROM rows").fetchall()
    late = bench.session(table)
    for batch in late.prepare(bench.keys["random"](10, seed=2), Payload(0), 0, 10):
        late.send(batch)
    late.close()
    admin = ENGINE.admin(bench.changed(busy_timeout="50"))
    with pytest.raises(ServerError, match=r"^SQLite: .*(kept the WAL from being checkpointed|kept the table locked)"):
        admin.settle(table)
    admin.close()
    reader.close()


def test_a_stored_key_of_another_form_is_an_error(bench: Bench) -> None:
    table = bench.table("binary16")
    bench.load(table, bench.keys["random"](10))
    session = bench.session(table)
    session._connection.execute("INSERT INTO rows VALUES ('text'), (x'00')")  # type: ignore[attr-defined]
    session.close()
    with pytest.raises(ServerError, match=r"^SQLite: keys in the table are not bytes of length 16\."):
        list(bench.admin.stored_keys(table))
