"""What users name as output: files are replaced, links are followed, and what is no regular file stays what it is."""

import os
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from keybench.errors import UsageError
from keybench.results.atomic_file import atomic_file, written
from tests.errors import raised
from tests.parameters import first


def write(path: Path, text: str = "new") -> None:
    with atomic_file(path) as part:
        part.write_text(text, encoding="utf-8")


def test_a_link_stays_and_its_file_is_replaced(tmp_path) -> None:
    (tmp_path / "far").mkdir()
    file, link, chain, dangling = (tmp_path / name for name in ("far/file", "link", "chain", "dangling"))
    file.write_text("old", encoding="utf-8")
    link.symlink_to("far/file")
    chain.symlink_to("link")
    dangling.symlink_to("far/other")
    for name in (chain, dangling):
        write(name)
        assert name.is_symlink()
        assert name.read_text(encoding="utf-8") == "new"
    assert sorted(path.name for path in tmp_path.rglob("*")) == ["chain", "dangling", "far", "file", "link", "other"]


def test_a_name_as_long_as_names_may_be_is_written(tmp_path) -> None:
    path = tmp_path / ("x" * 255)
    write(path)
    assert path.read_text(encoding="utf-8") == "new"


@pytest.mark.parametrize("name", [".", "..", "/", "folder", "folder/"])
def test_a_folder_is_refused(name, tmp_path, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "folder").mkdir()
    said = raised(UsageError, write, Path(name))
    assert said == f"{Path(name)} cannot be written (Is a directory): give -o another file."


def test_a_name_that_no_file_can_have_is_refused(tmp_path) -> None:
    with pytest.raises(UsageError, match=r"its name holds a NUL\): give -o another file\.$"):
        write(tmp_path / "a\0b")
    (tmp_path / "circle").symlink_to("circle")
    with pytest.raises(UsageError, match=r"\(Too many levels of symbolic links\): give -o another file\.$"):
        write(tmp_path / "circle")


def test_pipes_and_devices_are_refused_and_stay(tmp_path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    null = tmp_path / "null"
    null.symlink_to("/dev/null")
    for path in (pipe, null, Path("/dev/null")):
        said = raised(UsageError, write, path)
        assert said == f"{path} is no regular file: give -o another file, or - for standard output."
    assert stat.S_ISFIFO(pipe.stat().st_mode)
    assert stat.S_ISCHR(Path("/dev/null").stat().st_mode)


@pytest.mark.parametrize("name", first(1, ["-", "/dev/stdout"]))
def test_standard_output_gets_the_content_alone(name, tmp_path, fake_run) -> None:
    fake_run(layouts=("bigint-identity", "uuid-v4"), databases=("sqlite",), blocks=1).close()
    command = [sys.executable, "-m", "keybench"]
    for arguments, begins in (
        (["export", "latest", "--results", "results.sqlite"], b"run,block,position,"),
        (["export", "latest", "--results", "results.sqlite", "--bundle"], b"PK\x03\x04"),
        (["report", "latest", "--results", "results.sqlite"], b"<!doctype html>"),
    ):
        ended = subprocess.run([*command, *arguments, "-o", name], cwd=tmp_path, capture_output=True, check=False)
        assert (ended.returncode, ended.stderr) == (0, b"")
        assert ended.stdout.lower().startswith(begins.lower())
        assert not ended.stdout.endswith(f"{name}\n".encode())
    assert [path.name for path in tmp_path.iterdir()] == ["results.sqlite"]


def test_what_was_written_is_said_unless_it_went_to_standard_output() -> None:
    assert written(Path("run.csv")) == "run.csv\n"
    assert written(Path("-")) == ""
