"""Files that users name: a pipe or a device is refused at once, whatever it would give."""

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from keybench.errors import UsageError
from keybench.results.bundle.reading import read_bundle
from keybench.results.check import baseline
from keybench.runners import config
from keybench.scenarios.files import load_scenario
from tests.errors import raised

READERS: dict[str, tuple[Callable[[Path], object], str]] = {
    "baseline": (
        baseline.load,
        "the baseline x.toml cannot be read (it is no regular file): give --baseline another file.",
    ),
    "scenario": (
        lambda path: load_scenario(str(path)),
        "scenario file x.toml cannot be read ([Errno 22] it is no regular file: 'x.toml'): check the path.",
    ),
    "bundle": (
        read_bundle,
        "x.toml cannot be read (it is no regular file): name a file of `keybench export --bundle`.",
    ),
    "configuration": (
        lambda path: config.options("run", [], path),
        "x.toml cannot be read ([Errno 22] it is no regular file: 'x.toml'): correct it or move it away.",
    ),
}


@pytest.mark.timeout(20)
@pytest.mark.parametrize("make", [os.mkfifo, lambda path: path.symlink_to("/dev/zero")], ids=["pipe", "endless"])
@pytest.mark.parametrize("reader", READERS)
def test_what_is_no_regular_file_is_refused(reader: str, make, tmp_path: Path, monkeypatch) -> None:
    read, message = READERS[reader]
    monkeypatch.chdir(tmp_path)
    make(Path("x.toml"))
    assert raised(UsageError, read, Path("x.toml")) == message


def test_a_name_that_no_file_can_have_is_refused(tmp_path: Path) -> None:
    assert raised(UsageError, baseline.load, Path("a\0b")) == (
        "the baseline a\0b cannot be read (its name holds a NUL): give --baseline another file."
    )
    with pytest.raises(UsageError, match=r"cannot be written \(File name too long\): give --baseline another file\.$"):
        baseline.save(Path("x" * 300), baseline.Baseline())
