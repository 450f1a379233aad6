"""The command and its output file."""

import subprocess
import sys

import pytest

from benchmarks import report as benchmark
from tests.results.report.page import Page


def test_it_writes_the_page_and_prints_its_path(fake_run, tmp_path) -> None:
    """In a process of its own."""
    fake_run(layouts=("bigint-identity", "uuid-v4"), databases=("sqlite",), blocks=1).close()
    command = ["-m", "keybench.results.report", "5ca1", "--results", "results.sqlite", "-o", "page.html"]
    done = subprocess.run([sys.executable, *command], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (0, "page.html\n", "")
    assert (tmp_path / "page.html").read_text(encoding="utf-8").startswith("<!DOCTYPE html>")


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
