"""Every failure is a clear error, nothing is left behind, and the next trial runs on a fresh server."""

import os
import random as chance
import re
import signal
import socket
import stat
import subprocess
import sys
import time
from collections import deque
from collections.abc import Iterator
from contextlib import closing, suppress
from pathlib import Path

import pytest

from keybench.databases.contract.engine import Engine
from keybench.databases.contract_suite.bench import Bench
from keybench.databases.contract_suite.keys import random
from keybench.databases.contract_suite.places import Place
from keybench.databases.contract_suite.servers import Base
from keybench.errors import KeybenchError, ServerError
from keybench.model.column import Column
from keybench.model.payload import Payload
from keybench.model.table import Table

linux = pytest.mark.skipif(sys.platform != "linux", reason="private servers run on Linux only")
MB = 1 << 20

RUNNER = """
import sys
import numpy as np
from keybench.databases.registry import engine
from keybench.model.table import Table
from keybench.model.payload import Payload
from keybench.model.keys import Keys
on = engine(sys.argv[1])
server = on.provision(sys.argv[2], on.settings("durable", "small"))
print("go", flush=True)
address = server.start()
table = Table("contract", next(column for column in on.columns if "int" in column.kinds), 100)
on.admin(address).create(table)
session = on.session(address, table)
start = 0
while True:
    for batch in session.prepare(Keys(np.arange(start, start + 10_000), "int"), Payload(100), start, 1000):
        session.send(batch)
    start += 10_000
"""


def native(engine: Engine) -> Column:
    return next(column for column in engine.columns if "uuid" in column.kinds and column.native)


def send_all(bench: Bench, table: Table, rows: int, rows_per_tx: int) -> None:
    with closing(bench.session(table)) as session:
        for batch in session.prepare(random(rows), Payload(table.payload), 0, rows_per_tx):
            session.send(batch)


def processes(base: Base) -> list[int]:
    """The server's own processes, without the keeper."""
    return [int(line.split()[0]) for line in base.processes() if "keybench.databases.hosting.folder_keeper" not in line]


def shared_memory() -> set[str]:
    """Shared memory that dead servers left: System V segments whose creator is gone, and PostgreSQL's files."""
    rows = [row.split() for row in Path("/proc/sysvipc/shm").read_text().splitlines()[1:]]
    orphans = {row[1] for row in rows if row[6] == "0" and not Path(f"/proc/{row[4]}").exists()}
    return orphans | {path.name for path in Path("/dev/shm").glob("PostgreSQL.*")}


@pytest.fixture
def no_shared_memory_left() -> Iterator[None]:
    """Asserts that no shared memory is left. It waits, because other servers on the machine may be just ending."""
    before = shared_memory()
    yield
    deadline = time.monotonic() + 5
    while (left := shared_memory() - before) and time.monotonic() < deadline:
        time.sleep(0.05)
    assert left == set()


@linux
@pytest.mark.usefixtures("no_shared_memory_left")
def test_a_killed_server_is_an_error_and_the_next_trial_runs_on_a_fresh_one(base: Base, private: Place) -> None:
    engine = private.engine
    provision = engine.provision(private.server, engine.settings("durable", "small"))
    assert not provision.alive()
    begin = time.monotonic()
    address = provision.start()
    try:
        assert time.monotonic() - begin < 30  # about one or two on a quiet machine
        assert provision.alive()
        table = Table("contract", native(engine), 0)
        with closing(engine.admin(address)) as admin:
            bench = Bench(engine, address, admin)
            admin.create(table)
            with closing(bench.session(table)) as session:
                batches = session.prepare(random(60_000), Payload(0), 0, 10)
                assert session.send(batches[0]) == 10
                if its_own := processes(base):
                    for process in its_own:
                        with suppress(ProcessLookupError):
                            os.kill(process, signal.SIGKILL)
                    with pytest.raises(ServerError, match=rf"^{engine.title}: \S"):
                        deque(map(session.send, batches[1:]))
                    with pytest.raises(ServerError, match=rf"^{engine.title}: \S"):
                        admin.index_bytes(table)
                else:  # the server runs in this process, so the test kills the keeper of its folder
                    (keeper,) = [int(line.split()[0]) for line in base.processes()]
                    os.kill(keeper, signal.SIGKILL)
        deadline = time.monotonic() + 10
        while provision.alive() and time.monotonic() < deadline:
            time.sleep(0.02)
        assert not provision.alive()
        provision.stop()
        address = provision.start()
        assert provision.alive()
        with closing(engine.admin(address)) as admin:
            bench = Bench(engine, address, admin)
            admin.create(table)
            assert bench.send(table, random(10)) == [10]
    finally:
        provision.stop()
    provision.stop()
    assert not provision.alive()
    assert base.left() == []
    with pytest.raises(ServerError, match=engine.title), closing(engine.admin(address)) as admin:
        admin.index_bytes(table)


@linux
@pytest.mark.usefixtures("no_shared_memory_left")
def test_a_runner_killed_at_a_random_moment_leaves_nothing(base: Base, private: Place) -> None:
    moment = chance.Random(str(private))
    command = [sys.executable, "-c", RUNNER, private.engine.name, private.server]
    runner = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, start_new_session=True)
    assert runner.stdout
    try:
        assert runner.stdout.readline() == "go\n"
        time.sleep(moment.uniform(0, 2))
        assert runner.poll() is None
    finally:
        moment.choice([os.kill, os.killpg])(runner.pid, signal.SIGKILL)
        runner.wait()
        runner.stdout.close()
    base.assert_nothing_left(10)


def sockets() -> set[int]:
    """Descriptors of this process that are sockets."""
    descriptors = set()
    for entry in Path("/proc/self/fd").iterdir():
        with suppress(OSError):
            if stat.S_ISSOCK(entry.stat().st_mode):
                descriptors.add(int(entry.name))
    return descriptors


@linux
def test_a_dropped_connection_is_an_error_and_its_batch_is_not_there(bench: Bench, guids: Column) -> None:
    table = bench.table(guids, 100)
    bench.admin.create(table)
    before = sockets()
    with closing(bench.session(table)) as session:
        (descriptor, *more) = sockets() - before or {-1}
        if descriptor < 0:
            pytest.skip(f"{bench.engine.title} has no connection to drop: it runs in this process")
        assert not more
        first, second = session.prepare(random(2000), Payload(100), 0, 1000)
        assert session.send(first) == 1000
        with socket.socket(fileno=os.dup(descriptor)) as wire:
            wire.shutdown(socket.SHUT_RDWR)
        with pytest.raises(ServerError, match=rf"^{bench.engine.title}: \S"):
            session.send(second)
        with pytest.raises(ServerError, match=rf"^{bench.engine.title}: \S"):
            session.prepare_keys(random(1))
    assert sum(map(len, bench.admin.stored_keys(table))) == 1000
    assert sum(bench.send(table, random(2000)[1000:])) == 1000  # no lock is left either


@pytest.fixture
def small_disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A small file system for private servers."""
    if sys.platform != "linux" or os.geteuid() != 0:
        pytest.skip("only root can mount a small file system")
    folder = Path("/tmp") / f"kb-{os.urandom(4).hex()}"
    folder.mkdir(mode=0o755)
    mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=4g,mode=755", "tmpfs", folder], capture_output=True)
    if mounted.returncode:
        folder.rmdir()
        pytest.skip(f"no file system can be mounted here: {mounted.stderr.decode().strip()}")
    monkeypatch.setenv("KEYBENCH_TMP", str(folder))
    yield folder
    subprocess.run(["umount", folder], check=True)
    folder.rmdir()


@pytest.mark.usefixtures("no_shared_memory_left")
def test_a_full_disk_is_an_error_with_the_next_step_and_nothing_is_left(small_disk: Path, private: Place) -> None:
    engine = private.engine
    provision = engine.provision(private.server, engine.settings("durable", "small"))
    address = provision.start()
    try:
        table = Table("contract", native(engine), 1000)
        with closing(engine.admin(address)) as admin:
            admin.create(table)
            usage = os.statvfs(small_disk)
            used = (usage.f_blocks - usage.f_bfree) * usage.f_frsize
            subprocess.run(["mount", "-o", f"remount,size={used + 6 * MB}", small_disk], check=True)
            with pytest.raises(KeybenchError) as full:
                send_all(Bench(engine, address, admin), table, 40_000, 100)
        message = str(full.value)
        assert message.startswith(f"{engine.title}: ")
        assert re.search(r"(?i)no space|full|disk", message)
        assert "KEYBENCH_TMP" in message
    finally:
        provision.stop()
    assert list(small_disk.iterdir()) == []
