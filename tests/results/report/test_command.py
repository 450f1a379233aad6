"""The command: its output file, and its errors for missing runs and files."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from benchmarks import report as benchmark
from keybench.results.report.command import app
from tests.results.report.page import Page
from tests.runners.conftest import Run, in_this_process


@pytest.fixture
def report(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Run:
    """`keybench report …` in the folder, in this process."""
    return in_this_process(app, dict(os.environ), tmp_path, monkeypatch, capsys)


def test_it_writes_the_page_and_prints_its_path(fake_run, tmp_path) -> None:
    """In a process of its own."""
    fake_run(layouts=("bigint-identity", "uuid-v4"), databases=("sqlite",), blocks=1).close()
    command = ["-m", "keybench.results.report", "5ca1", "--results", "results.sqlite", "-o", "page.html"]
    done = subprocess.run([sys.executable, *command], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (0, "page.html\n", "")
    assert (tmp_path / "page.html").read_text(encoding="utf-8").startswith("<!DOCTYPE html>")


def test_unknown_runs_and_missing_files_are_refused(fake_run, report: Run, tmp_path) -> None:
    fake_run(layouts=("bigint-identity",), databases=("sqlite",), blocks=1).close()
    unknown = report("feed", "--results", "results.sqlite")
    assert (unknown.returncode, unknown.stdout) == (2, "")
    assert "feed" in unknown.stderr
    assert "Traceback" not in unknown.stderr
    missing = report("latest", "--results", "other.sqlite")
    assert missing.returncode == 2
    assert "other.sqlite" in missing.stderr
    assert not (tmp_path / "other.sqlite").exists()


@pytest.mark.long
@pytest.mark.timeout(900)
def test_a_report_of_ten_thousand_trials_takes_ten_seconds(tmp_path) -> None:
    path = tmp_path / "results.sqlite"
    assert benchmark.write(path) == 10_000
    seconds, size = min(benchmark.drawn(path) for _ in range(2))
    assert seconds < benchmark.TARGET, "seconds of processor time"
    assert size < 20 << 20


def test_the_benchmark_works_with_a_small_file(tmp_path) -> None:
    path = tmp_path / "results.sqlite"
    assert benchmark.write(path, blocks=1, names=4) == 20
    _, size = benchmark.drawn(path)
    assert size > 100_000
    page = Page(path.with_suffix(".html").read_text(encoding="utf-8"))
    assert "20 trials recorded" in page.text
