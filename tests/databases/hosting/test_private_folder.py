import os
import pwd
import signal
import stat
import sys
import time
from pathlib import Path

import pytest

from keybench.databases.hosting.private_server import PrivateFolder, base_directory, server_user
from keybench.errors import EnvironmentMissing
from tests.databases.waiting import wait_while
from tests.errors import raised

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="private servers run on Linux only")

as_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root runs servers as another user")


def test_a_folder_without_a_server_is_private_and_goes_at_stop(base) -> None:
    kept = PrivateFolder("sqlite")
    with pytest.raises(RuntimeError, match=r"^a private folder does not exist before start\(\)$"):
        _ = kept.folder
    assert not kept.alive()
    kept.start(10)
    status = kept.folder.stat()
    assert (kept.folder.parent, stat.S_IMODE(status.st_mode), status.st_uid) == (base.path, 0o700, os.geteuid())
    assert kept.folder.name.startswith("keybench-sqlite-")
    assert kept.server_pid is None
    assert kept.alive()
    kept.stop()
    assert base.left() == []
    assert not kept.alive()
    kept.stop()


def test_setup_comes_before_the_server_and_knows_the_folder(base) -> None:
    kept = PrivateFolder(
        "test",
        setup=[["sh", "-c", "echo one > {folder}/made"], ["sh", "-c", "echo two >> {folder}/made"]],
        server=["sh", "-c", "cat {folder}/made; pwd; id -un; exec sleep 600"],
    )
    with kept.start(10):
        expected = ["one", "two", str(kept.folder), server_user() or pwd.getpwuid(os.getuid())[0]]
        wait_while(lambda: len(kept.log_tail().splitlines()) < len(expected))
        assert kept.log_tail().splitlines() == expected
        owner = pwd.getpwuid(kept.folder.stat().st_uid).pw_name
        assert owner == expected[-1]
        assert stat.S_IMODE(kept.folder.stat().st_mode) == 0o700
    assert base.left() == []


def test_nothing_of_the_spec_is_on_the_keepers_command_line(base) -> None:
    with PrivateFolder("test", setup=[["true", "confidential"]], server=["sleep", "600"]).start(10):
        (line,) = [line for line in base.processes() if "keeper" in line]
        assert line.split()[-2:] == ["-m", "keybench.databases.hosting.folder_keeper"]


def test_a_server_that_ends_by_itself_is_not_alive_and_its_log_can_be_read(base) -> None:
    kept = PrivateFolder("test", server=["sh", "-c", "echo cannot go on; sleep 0.1; exit 3"]).start(10)
    wait_while(lambda: kept.alive())
    assert not kept.alive()
    base.assert_nothing_left()
    assert kept.log_tail() == "cannot go on"
    kept.stop()
    assert kept.log_tail() == "cannot go on"


def test_start_again_after_a_crash(base) -> None:
    kept = PrivateFolder("test", server=["sleep", "600"]).start(10)
    assert kept.server_pid
    os.kill(kept.server_pid, signal.SIGKILL)
    base.assert_nothing_left()
    kept.stop()
    with kept.start(10):
        assert kept.alive()
    assert base.left() == []


def test_the_server_gets_its_stop_signal(base) -> None:
    mark = base.path / "mark"
    mark.touch()
    mark.chmod(0o666)
    script = f'trap "echo interrupted > {mark}; exit" INT; touch ready; while :; do sleep 0.05; done'
    with PrivateFolder("test", server=["sh", "-c", script], stop_signal=signal.SIGINT).start(10) as kept:
        wait_while(lambda: not (kept.folder / "ready").exists())
    assert mark.read_text() == "interrupted\n"


def test_a_failing_setup_says_what_failed_and_leaves_nothing(base) -> None:
    killed = PrivateFolder("test", setup=[["sh", "-c", "echo half; kill -9 $$"]], server=["sleep", "600"])
    assert raised(EnvironmentMissing, killed.start, 20) == (
        "the private test server cannot be set up: sh was killed by the signal SIGKILL, as the system does when memory "
        "runs out. The end of its log:\nhalf\nFix that, or choose another --server."
    )
    kept = PrivateFolder("test", setup=[["sh", "-c", "echo no disk; exit 3"]], server=["sleep", "600"])
    assert raised(EnvironmentMissing, kept.start, 10) == (
        "the private test server cannot be set up: sh failed with exit code 3. The end of its log:\nno disk\n"
        "Fix that, or choose another --server."
    )
    assert base.left() == []


def test_a_missing_program_is_named(base) -> None:
    assert raised(EnvironmentMissing, PrivateFolder("test", server=["/nowhere/postgres"]).start, 10) == (
        "the private test server cannot be set up: /nowhere/postgres: No such file or directory.\n"
        "Fix that, or choose another --server."
    )
    assert base.left() == []


def test_a_setup_that_takes_too_long_is_ended(base) -> None:
    slow = PrivateFolder("test", setup=[["sh", "-c", "echo waiting; sleep 600"]], server=["sleep", "600"])
    begin = time.monotonic()
    assert raised(EnvironmentMissing, slow.start, 0.5) == (
        "the private test server was not set up within 0.5 s. The end of its log:\nwaiting\n"
        "Fix that, or choose another --server."
    )
    assert time.monotonic() - begin < 5
    assert base.left() == []


def test_a_base_directory_that_is_not_there(monkeypatch) -> None:
    monkeypatch.setenv("KEYBENCH_TMP", "/nowhere")
    assert base_directory() == Path("/nowhere")
    assert raised(EnvironmentMissing, PrivateFolder("test").start, 10) == (
        "the directory /nowhere for private servers is not there: create it or set KEYBENCH_TMP."
    )


def test_a_base_directory_too_long_for_a_socket(base, monkeypatch) -> None:
    long = base.path / ("d" * 70)
    long.mkdir()
    monkeypatch.setenv("KEYBENCH_TMP", str(long))
    assert raised(EnvironmentMissing, PrivateFolder("test", server=["sleep", "600"]).start, 10) == (
        f"the directory {long} is too long for a server's socket, whose path must stay below 100 characters: "
        "set KEYBENCH_TMP to a shorter one, such as /tmp."
    )
    PrivateFolder("test").start(10).stop()  # without a server there is no socket


@as_root
def test_a_base_directory_that_the_servers_user_cannot_enter(base, monkeypatch) -> None:
    closed = base.path / "closed"
    closed.mkdir(mode=0o700)
    monkeypatch.setenv("KEYBENCH_TMP", str(closed))
    assert raised(EnvironmentMissing, PrivateFolder("test", server=["sleep", "600"]).start, 10) == (
        f"the private test server cannot be set up: the user {server_user()}, whom the server runs as because "
        f"it refuses root, cannot enter {closed}: set KEYBENCH_TMP to a directory that everybody can enter, "
        "such as /tmp.\n"
        "Fix that, or choose another --server."
    )
    assert stat.S_IMODE(closed.stat().st_mode) == 0o700
    assert list(closed.iterdir()) == []


def installed(root: Path) -> Path:
    program = root / "bin" / "serve"
    program.parent.mkdir(parents=True)
    program.write_text("#!/bin/sh\necho $0\ncat ${0%/bin/serve}/share/words\nexec sleep 600\n")
    program.chmod(0o700)
    (root / "share").mkdir()
    (root / "share" / "words").write_text("words\n")
    (root / "include").mkdir()
    return root


@as_root
def test_programs_that_the_servers_user_cannot_read_are_copied(base) -> None:
    private = base.path / "private"
    private.mkdir(mode=0o700)
    root = installed(private / "pg")
    with PrivateFolder("test", server=["{installation}/bin/serve"], installation=root).start(10) as kept:
        copy = kept.folder / "installation"
        assert kept.installation == copy
        wait_while(lambda: "words" not in kept.log_tail())
        assert kept.log_tail().splitlines() == [f"{copy}/bin/serve", "words"]
        assert sorted(path.name for path in copy.iterdir()) == ["bin", "share"]
    assert stat.S_IMODE(private.stat().st_mode) == 0o700


def test_readable_programs_run_where_they_are(base) -> None:
    root = installed(base.path / "pg")
    (root / "bin" / "serve").chmod(0o755)
    with PrivateFolder("test", server=["{installation}/bin/serve"], installation=root).start(10) as kept:
        assert kept.installation == root
        wait_while(lambda: "words" not in kept.log_tail())
        assert kept.log_tail().splitlines() == [f"{root}/bin/serve", "words"]


def test_a_server_that_is_restarted_ends_in_order_and_finds_its_files(base) -> None:
    script = "trap 'echo ended; exit 0' INT; echo $$ >> {folder}/starts; echo up; while :; do sleep 0.01; done"
    kept = PrivateFolder("test", server=["sh", "-c", script], restart_signal=signal.SIGINT)
    with kept.start(10):
        pids = [kept.server_pid]
        for _ in range(2):
            wait_while(lambda: kept.log_tail().count("up") < len(pids))
            kept.restart(10)
            pids.append(kept.server_pid)
            assert kept.alive()
        wait_while(lambda: kept.log_tail().count("up") < 3)
        assert kept.log_tail().splitlines() == ["up", "ended", "up", "ended", "up"]
        assert [int(line) for line in (kept.folder / "starts").read_text().split()] == pids
    assert base.left() == []
    with pytest.raises(EnvironmentMissing, match="could not be restarted"):
        kept.restart(0.1)
