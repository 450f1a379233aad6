"""Temporary folders that no killed process leaves for good."""

import os
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import pytest

from keybench import locked_folder

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="there are no locks on Windows")


def left_by_a_killed_process(base: Path, name: str) -> Path:
    folder = base / f"keybench-{name}"
    (folder / "deep").mkdir(parents=True)
    folder.with_name(f"{folder.name}.lock").touch()
    return folder


def listed(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def test_a_folder_lasts_as_long_as_its_block(tmp_path: Path) -> None:
    with locked_folder.locked_folder(tmp_path, "test") as folder:
        (folder / "file").touch()
        assert folder.stat().st_mode & 0o777 == 0o700
        assert listed(tmp_path) == [folder.name, f"{folder.name}.lock"]
        assert locked_folder.sweep(tmp_path) == []
        assert locked_folder.stale(tmp_path) == ([], [folder])
    assert listed(tmp_path) == []


def test_sweep_removes_and_returns_folders_whose_owner_is_gone(tmp_path: Path) -> None:
    folder = left_by_a_killed_process(tmp_path, "test-1")
    (tmp_path / "keybench-mine").mkdir()  # no lock: it is somebody's
    assert locked_folder.stale(tmp_path) == ([folder], [])
    assert locked_folder.sweep(tmp_path) == [folder]
    assert listed(tmp_path) == ["keybench-mine"]


def test_the_folder_of_a_killed_process_is_swept_once_it_is_dead(tmp_path: Path) -> None:
    code = (
        "import sys, time; from pathlib import Path; from keybench.locked_folder import locked_folder\n"
        "with locked_folder(Path(sys.argv[1]), 'test') as folder: print(folder, flush=True); time.sleep(60)"
    )
    with subprocess.Popen([sys.executable, "-c", code, str(tmp_path)], stdout=subprocess.PIPE, text=True) as owner:
        folder = Path(owner.stdout.readline().strip())
        assert locked_folder.sweep(tmp_path) == []
        owner.send_signal(signal.SIGKILL)
    assert locked_folder.sweep(tmp_path) == [folder]
    assert listed(tmp_path) == []


def test_a_lock_that_is_a_link_is_not_followed(tmp_path: Path) -> None:
    target = tmp_path / "precious"
    target.touch()
    (tmp_path / "keybench-test-2.lock").symlink_to(target)
    assert locked_folder.sweep(tmp_path) == []
    assert target.exists()


def test_where_no_lock_can_be_made_the_error_says_why(tmp_path: Path) -> None:
    with (
        pytest.raises(FileNotFoundError, match="No such file or directory"),
        locked_folder.locked_folder(tmp_path / "none", "test"),
    ):
        raise AssertionError
    assert locked_folder.claim(tmp_path / "none", "test") is None


def test_places_are_the_folder_of_servers_and_the_temporary_directory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "system"))
    monkeypatch.setenv("KEYBENCH_TMP", str(tmp_path / "own"))
    assert locked_folder.places() == [tmp_path / "own", tmp_path / "system"]
    monkeypatch.delenv("KEYBENCH_TMP")
    assert locked_folder.places() == [tmp_path / "system"]


@pytest.mark.parametrize("command", [["keybench.generators", "list"], ["keybench", "list", "scenarios"]])
def test_every_command_sweeps_when_it_starts(command: list[str], tmp_path: Path) -> None:
    for name in ("own", "system"):
        (tmp_path / name).mkdir()
        left_by_a_killed_process(tmp_path / name, "test")
    own = {"KEYBENCH_TMP": str(tmp_path / "own"), "TMPDIR": str(tmp_path / "system")}
    done = subprocess.run(
        [sys.executable, "-m", *command], env={**os.environ, **own}, capture_output=True, text=True, check=True
    )
    assert done.stderr == ""
    assert listed(tmp_path / "own") == listed(tmp_path / "system") == []


def test_clean_says_what_it_would_remove_and_removes_it_only_then(tmp_path: Path) -> None:
    folder = left_by_a_killed_process(tmp_path, "test")
    own = {"KEYBENCH_TMP": str(tmp_path), "TMPDIR": str(tmp_path), "DOCKER_HOST": "unix:///nonexistent/docker.sock"}
    for command in (["keybench", "clean"], ["keybench.runners.clean"]):
        done = subprocess.run(
            [sys.executable, "-m", *command, "--dry-run"],
            env={**os.environ, **own}, capture_output=True, text=True, check=True,
        )  # fmt: skip
        assert done.stdout == f"would remove {folder}\n"
    assert folder.exists()


@pytest.mark.skipif(os.geteuid() == 0, reason="root may delete everything")
def test_a_folder_that_cannot_be_removed_delays_a_command_for_a_moment_only(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = left_by_a_killed_process(tmp_path, "test")
    folder.chmod(0o500)
    monkeypatch.setenv("KEYBENCH_TMP", str(tmp_path))
    begin = time.monotonic()
    locked_folder.sweep_at_start()
    assert time.monotonic() - begin < 4
    folder.chmod(0o700)
