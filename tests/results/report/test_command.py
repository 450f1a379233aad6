"""The command: where it writes, and what it says of runs and files that are not there."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path


def report(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "keybench.results.report", *arguments]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)


def test_it_writes_the_page_and_prints_its_path(fake_run, tmp_path) -> None:
    fake_run(layouts=("bigint-identity", "uuid-v4"), databases=("sqlite",), blocks=1).close()
    done = report(tmp_path, "5ca1", "--results", "results.sqlite", "-o", "page.html")
    assert (done.returncode, done.stdout, done.stderr) == (0, "page.html\n", "")
    assert (tmp_path / "page.html").read_text(encoding="utf-8").startswith("<!DOCTYPE html>")


def test_what_is_not_there(fake_run, tmp_path) -> None:
    fake_run(layouts=("bigint-identity",), databases=("sqlite",), blocks=1).close()
    unknown = report(tmp_path, "feed", "--results", "results.sqlite")
    assert (unknown.returncode, unknown.stdout) == (2, "")
    assert "feed" in unknown.stderr
    assert "Traceback" not in unknown.stderr
    missing = report(tmp_path, "latest", "--results", "other.sqlite")
    assert missing.returncode == 2
    assert "other.sqlite" in missing.stderr
    assert not (tmp_path / "other.sqlite").exists()
