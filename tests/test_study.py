"""The study's runs: each can be planned, and a second one is compared with what is published."""

import subprocess
import sys
from pathlib import Path

import pytest

from scripts.study.__main__ import ROOT, StudyRun, differences, make, page_counts, study_runs
from tests.parameters import first


@pytest.mark.parametrize("run", first(1, study_runs()), ids=lambda run: run.name)
def test_each_run_of_the_study_can_be_planned(run: StudyRun) -> None:
    command = [sys.executable, "-m", "keybench", "run", *run.options, "--dry-run"]
    planned = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert planned.returncode == 0, planned.stderr
    assert "trials in" in planned.stdout + planned.stderr


def test_a_second_study_has_the_published_page_counts(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    options = ["--scenario", "quick", "--db", "sqlite", "--server", "model", "--layout", "uuid-v7", "--blocks", "1"]
    small = StudyRun("small", 0.01, options)
    assert make(small, ["--rows", "2000"], tmp_path / "first", tmp_path / "published") == 0
    assert make(small, ["--rows", "2000"], tmp_path / "second", tmp_path / "published") == 0
    assert "small: all page counts are equal to the published ones" in capfd.readouterr().out
    assert make(small, ["--rows", "4000"], tmp_path / "third", tmp_path / "published") == 1
    published = page_counts(tmp_path / "published" / "small.zip")
    assert len(published) == 2  # the control and uuid-v7
    wrong = {place: {count + 1 for count in counts} for place, counts in published.items()}
    assert len(differences(published, wrong)) == 2
    assert differences({("sqlite", "uuid-v7"): {1100.0}}, {}) == ["sqlite · uuid-v7: nothing; published 1,100"]
