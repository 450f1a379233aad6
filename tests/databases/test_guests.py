"""On a user's own server keybench leaves everything as it was, two runs exclude each other, and no password is shown.

`owner.py` in the engine's own folder makes and dumps such a server.
"""

from __future__ import annotations

import importlib
import inspect
import os
import pickle
import secrets
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import closing, suppress
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest

from keybench.databases.contract.engine import Engine
from keybench.databases.contract_suite.places import places
from keybench.databases.contract_suite.servers import Servers
from keybench.databases.registry import engines
from keybench.errors import EnvironmentMissing, ServerError, UsageError
from keybench.model.table import Table
from tests.databases import failures
from tests.errors import raised

PASSWORD = "s3cret/hunter:2 %@x" + secrets.token_hex(6)
WORK = ("--layout", "uuid-v4", "--rows", "2000", "--blocks", "1")
LONG = ("--layout", "uuid-v4", "--rows", "400000", "--blocks", "1")
Command = Callable[..., "subprocess.CompletedProcess[str]"]

pytestmark = pytest.mark.usefixtures("environment")


def owners() -> dict[str, tuple[Engine, str, Any]]:
    """Engines that run here and whose folder has an `owner.py`: the engine, a server kind and the class `Owner`."""
    by_name: dict[str, tuple[Engine, str, Any]] = {}
    for place in places():
        folder = type(place.engine).__module__.split(".")[2]
        if place.is_url or place.engine.name in by_name or not find_spec(f"tests.databases.{folder}.owner"):
            continue
        module = importlib.import_module(f"tests.databases.{folder}.owner")
        by_name[place.engine.name] = place.engine, place.server, module.Owner
    return by_name


def parameters() -> list[Any]:
    """The engines' names. Of two engines with one class of owners, `make test` takes the first."""
    found: dict[str, list[str]] = {}
    for name, (_, _, owner) in sorted(owners().items()):
        found.setdefault(Path(inspect.getfile(owner)).parent.name, []).append(name)
    return [
        pytest.param(name, marks=[pytest.mark.long] if place else [])
        for names in found.values()
        for place, name in enumerate(names)
    ]


@pytest.fixture(scope="module", params=parameters())
def server(request: pytest.FixtureRequest, servers: Servers) -> Iterator[tuple[Engine, Any]]:
    engine, kind, owner_of = owners()[request.param]
    owner = owner_of(servers.address(engine, kind), PASSWORD)
    yield engine, owner
    owner.close()


@pytest.fixture
def engine(server: tuple[Engine, Any]) -> Engine:
    return server[0]


@pytest.fixture
def owner(server: tuple[Engine, Any]) -> Any:
    return server[1]


def provision(engine: Engine, url: str) -> Any:
    return engine.provision(url, engine.settings("durable", "small"))


hidden = partial(failures.hidden, password=PASSWORD)
failure = partial(failures.failure, password=PASSWORD)


def test_the_password_goes_into_the_environment_and_nowhere_else(engine: Engine, owner: Any) -> None:
    there = provision(engine, owner.url(PASSWORD))
    address = there.start()
    try:
        assert os.environ[address.secret.variable] == PASSWORD
        assert address.secret.variable.startswith("KEYBENCH_PASSWORD_")
        assert PASSWORD.encode() not in pickle.dumps(address)
        assert hidden(repr(address), address, vars(there), repr(there))
        assert (address.server, address.settings) == ("url", None)
        assert pickle.loads(pickle.dumps(address)) == address
        assert there.alive()
        variable = address.secret.variable
    finally:
        there.stop()
    again = provision(engine, owner.url(PASSWORD))
    assert again.start().secret.variable == variable  # there is no second variable
    again.stop()


def test_a_password_can_come_from_the_environment_or_a_file(
    engine: Engine, owner: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "secret").write_text(PASSWORD + "\n")
    for name, value in (("KEYBENCH_PASSWORD", PASSWORD), ("KEYBENCH_PASSWORD_FILE", str(tmp_path / "secret"))):
        with monkeypatch.context() as patch:
            patch.setenv(name, value)
            there = provision(engine, owner.url(""))
            address = there.start()
            engine.admin(address).close()
            there.stop()
            assert PASSWORD.encode() not in pickle.dumps(address)


def test_a_second_run_is_refused_until_the_first_has_ended(engine: Engine, owner: Any) -> None:
    first, second = provision(engine, owner.url(PASSWORD)), provision(engine, owner.url(PASSWORD))
    admin = engine.admin(first.start())
    admin.create(Table("trial", engine.columns[0], 10))
    message = raised(EnvironmentMissing, second.start)
    assert message.startswith(f"{owner.title} at ")
    assert message.endswith(
        ": another run of keybench is using it, and both would use the same tables.\n"
        "Wait until that run has ended, or choose another --server."
    )
    second.stop()
    assert list(admin.stored_keys(Table("trial", engine.columns[0], 10))) == []  # the first one's table is there
    admin.close()
    first.stop()
    assert not owner.place_is_there()
    second.start()
    second.stop()
    second.stop()
    assert not owner.place_is_there()


def test_an_existing_schema_stays_with_its_contents(engine: Engine, owner: Any) -> None:
    owner.make_place()
    try:
        before = owner.dump()
        there = provision(engine, owner.url(PASSWORD))
        admin = engine.admin(there.start())
        admin.create(Table("rows", engine.columns[0], 0))
        admin.close()
        there.stop()
        assert owner.dump() == before
    finally:
        owner.drop_place()


def test_a_wrong_password_is_not_shown(engine: Engine, owner: Any) -> None:
    for wrong in (PASSWORD + "!", "!" + PASSWORD):
        error = failure(engine, owner.url(wrong))
        assert isinstance(error, EnvironmentMissing)
        assert owner.wrong_password in str(error)
        assert wrong not in str(error)
        assert str(error).endswith("in the URL, and that the server is up.")


def test_a_user_without_rights_gets_a_next_step(engine: Engine, owner: Any) -> None:
    error = failure(engine, owner.url(PASSWORD, "stranger"))
    assert isinstance(error, EnvironmentMissing)
    assert f" does not let keybench create its schema or tables: {owner.title}: " in str(error)
    assert "\nLet its administrator run: CREATE " in str(error)


@pytest.fixture
def command(variables: dict[str, str], tmp_path: Path) -> Command:
    """Runs a command in a folder of its own, to its end. It gets its server, and passwords, by the environment."""

    def run(module: str, *arguments: str, **changes: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, "-m", f"keybench.{module}", *arguments],
            cwd=tmp_path,
            env={**variables, **changes},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            check=False,
            timeout=240,
        )

    return run


class Watch(threading.Thread):
    """Looks for the password in the command lines of all processes until the block ends."""

    def __init__(self) -> None:
        super().__init__(daemon=True)
        self.seen: set[str] = set()
        self.looks = 0
        self._end = threading.Event()

    def run(self) -> None:
        while not self._end.wait(0.1):
            self.looks += 1
            for entry in Path("/proc").glob("[0-9]*/cmdline"):
                with suppress(OSError):
                    line = entry.read_bytes().replace(b"\0", b" ").decode(errors="replace")
                    if not hidden(line):
                        self.seen.add(line)

    def __enter__(self) -> Watch:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._end.set()
        self.join()


@pytest.mark.once
@pytest.mark.skipif(sys.platform != "linux", reason="process lists are read from /proc")
def test_a_run_leaves_everything_as_it_was_and_shows_no_password(
    engine: Engine, owner: Any, command: Command, tmp_path: Path
) -> None:
    before = owner.dump()
    run = ("runners.run", "--db", engine.name, *WORK)
    shown = ["--results", str(tmp_path / "results.sqlite")]
    with Watch() as watch:
        done = command(*run, *shown, KEYBENCH_SERVER=owner.url(PASSWORD))
        assert (done.returncode, done.stderr) == (0, ""), done.stdout + done.stderr
        assert owner.dump() == before
        wrong = command(*run, *shown, KEYBENCH_SERVER=owner.url(PASSWORD + "!"))
        assert wrong.returncode == 4
        assert owner.wrong_password in wrong.stderr
        report = command("results.report", "latest", *shown, "-o", "report.html")
    assert watch.looks > 10
    assert watch.seen == set()
    outputs = [part for each in (done, wrong, report) for part in (each.stdout, each.stderr)]
    files = {path.name: path.read_bytes().decode("utf-8", "replace") for path in tmp_path.iterdir() if path.is_file()}
    assert {"results.sqlite", "report.html"} <= files.keys()
    assert hidden(*outputs, *files.values(), owner.log())
    assert owner.dump() == before


@pytest.mark.once
@pytest.mark.parametrize("table", ["keybench_rows", "keybench_rows_parent", "keybench_board"])
def test_a_run_is_refused_where_somebody_elses_table_has_a_name_that_it_needs(
    engine: Engine, owner: Any, command: Command, table: str
) -> None:
    owner.make_place()
    try:
        owner.make_table(table)
        before = owner.dump()
        run = command("runners.run", "--db", engine.name, "--server", owner.url(PASSWORD), *WORK)
        assert run.returncode == 4
        assert run.stderr.endswith(
            f": keybench.{table} was not made by keybench, which needs the name for tables of its own.\n"
            "Rename it, or choose another --server. Nothing was changed.\n"
        )
        assert owner.dump() == before
        clean = command("runners.clean", "--server", owner.url(PASSWORD), "--yes")
        assert (clean.returncode, clean.stderr) == (0, "")
        assert owner.dump() == before
    finally:
        owner.drop_place()


def test_a_table_that_somebody_else_makes_during_a_run_is_not_dropped(engine: Engine, owner: Any) -> None:
    owner.make_place()
    there = provision(engine, owner.url(PASSWORD))
    try:
        address = there.start()
        admin, board = engine.admin(address), engine.coordination_table(address)
        for name in ("keybench_rows", "keybench_board"):
            owner.make_table(name)
        before = owner.dump()
        for touch in (admin.create, admin.drop):
            with pytest.raises(ServerError, match=r"^keybench_rows was not made by keybench, which drops only what it"):
                touch(Table("keybench_rows", engine.columns[0], 10))
        with pytest.raises(ServerError, match=r"^keybench_board was not made by keybench, which drops only what it"):
            board.create(1, 1)
        admin.close()
        board.close()
        there.stop()
        assert owner.dump() == before
    finally:
        owner.drop_place()


@pytest.mark.long
def test_a_table_beside_the_trials_survives_runs_that_succeed_fail_and_are_killed(
    engine: Engine, owner: Any, command: Command, variables: dict[str, str], tmp_path: Path
) -> None:
    owner.make_place()
    try:
        owner.make_table("orders")
        before, server = owner.dump(), ("--db", engine.name, "--server", owner.url(PASSWORD))
        for work, code in ((WORK, 0), ((*LONG, "--trial-timeout", "1"), 1)):
            assert command("runners.run", *server, *work).returncode == code
            assert owner.dump() == before
        run = started(variables, tmp_path, *server, *LONG)
        wait_for(owner.table_is_there)
        run.kill()
        run.wait()
        wait_for(owner.idle)
        assert command("runners.clean", *server[2:], "--yes").returncode == 0
        assert owner.dump() == before
    finally:
        owner.drop_place()


def started(variables: dict[str, str], folder: Path, *arguments: str) -> subprocess.Popen[bytes]:
    """A run in that folder, whose output nobody reads."""
    command = [sys.executable, "-m", "keybench.runners.run", *arguments]
    return subprocess.Popen(command, cwd=folder, env=variables, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


def wait_for(condition: Callable[[], bool], seconds: float = 60) -> None:
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.05)


@pytest.mark.once
def test_after_kill_and_clean_everything_is_as_it_was(
    engine: Engine, owner: Any, command: Command, variables: dict[str, str], tmp_path: Path
) -> None:
    before, url = owner.dump(), owner.url("")
    secret = {"KEYBENCH_PASSWORD": PASSWORD}
    (tmp_path / "first").mkdir()
    run = started({**variables, **secret}, tmp_path / "first", "--db", engine.name, "--server", url, *LONG)
    try:
        wait_for(owner.table_is_there)
        second = failure(engine, owner.url(PASSWORD))
        assert "another run of keybench is using it" in str(second)
        with closing(engine.owned_schema(owner.url(PASSWORD))) as left:
            assert left.in_use()
            assert left.remove() == []
        wait_for(owner.table_is_there)
        assert run.poll() is None
    finally:
        run.kill()
        run.wait()
    wait_for(owner.idle)
    assert owner.table_is_there()

    with closing(engine.owned_schema(owner.url(PASSWORD))) as left:
        assert not left.in_use()
        table, place = left.contents()
        assert table.startswith(f"table {owner.table}, ")
        assert place == f"{owner.place_of_its_own}, unless something else is in it"
    done = command("runners.clean", "--server", url, "--yes", **secret)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.endswith(f": removed table {owner.table}, {owner.place_of_its_own}\n")
    assert hidden(done.stdout)
    assert owner.dump() == before


@pytest.fixture(
    params=[
        on.name
        for on in engines().values()
        if on.url_schemes and any(map(find_spec, on.drivers)) and on.name != "oracle"  # its URL needs a service
    ]
)
def by_url(request: pytest.FixtureRequest) -> Engine:
    """An engine that has URLs and whose driver is installed. The tests need no server."""
    return engines()[request.param]


def test_an_address_where_nothing_answers_names_host_and_port(by_url: Engine, free_port: int) -> None:
    error = failure(by_url, f"{by_url.url_schemes[0]}://guest:{quote(PASSWORD, safe='')}@127.0.0.1:{free_port}")
    assert isinstance(error, EnvironmentMissing)
    assert str(error).startswith(f"{by_url.title} at 127.0.0.1:{free_port} cannot be reached: ")
    assert "Connection refused" in str(error)
    assert str(error).endswith("in the URL, and that the server is up.")


@pytest.mark.parametrize("rest", [f"guest:{PASSWORD}@[::1/x", "h:port/?nonsense=1"], ids=["host", "port"])
def test_a_url_that_cannot_be_understood_is_not_repeated(by_url: Engine, rest: str) -> None:
    scheme = by_url.url_schemes[0]
    error = failure(by_url, f"{scheme}://{rest}")
    assert isinstance(error, UsageError)
    assert str(error).startswith(f"the {by_url.title} URL cannot be understood: write {scheme}://user@host")
    assert error.__context__ is None
