"""The command: text for people, tables for documents and programs, one message for bad input."""

import json
import os
import re
import subprocess
import sys
from dataclasses import asdict
from pathlib import Path

import pytest

from keybench.model.metric import Metric
from keybench.results.claims.answers import VERDICTS, ClaimRow, answers, as_text, rows
from keybench.results.claims.claim import claims as all_claims
from keybench.results.compare.command import app
from keybench.results.store.database import Store
from scripts.claims import catalogue
from tests.runners.conftest import Run, in_this_process

ROOT = Path(__file__).parents[3]


@pytest.fixture
def claims(runs, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Run:
    """`keybench compare --claims …` beside the runs, in this process."""
    run = in_this_process(app, dict(os.environ), runs.path.parent, monkeypatch, capsys)
    return lambda *arguments: run("--claims", *arguments, "--results", "results.sqlite")


@pytest.fixture
def table(runs) -> list[ClaimRow]:
    def density(value):
        return lambda block: {Metric.LEAF_DENSITY: value, Metric.LEAF_PAGES: 100.0, Metric.LEAF_FRAGMENTATION: 49.9}

    runs.arms({("bigint-identity", "bigint"): density(90.1), ("uuid-v4", "uuid"): density(70.5)}, blocks=1)
    with Store.open(str(runs.path), write=False) as store:
        return rows(store, ["latest"])


def test_the_command_shows_what_a_run_answers(table, claims) -> None:
    done = claims("1111")
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == as_text(table, everything=False)
    assert (
        "calkio-v4: With UUIDv4, leaf pages are 69.4 % full, half of them are out of order, the index is 30 %\n"
        "larger than with UUIDv7, and inserts take 10 % longer.\n"
        "  calkio 2026, UuidBenchmark. There: PostgreSQL 16, ten million rows by EF Core in batches of 2,000,\n"
    ) in done.stdout
    assert (
        "  published: 69.4 % full (leaf density, uuid-v4@uuid, in two-million)\n"
        "    REPRODUCED     70.5 % (1 block) on postgresql (embedded, measured, 2,000,000 rows).\n"
    ) in done.stdout
    assert "NOT MEASURED" not in done.stdout
    assert re.search(r"^\d+ answers to \d+ claims: \d+ reproduced, \d+ not reproduced, ", done.stdout, re.M)
    assert re.search(
        r"^--all lists the other \d+ too, with the reasons and the commands that measure them\.$", done.stdout, re.M
    )
    assert max(map(len, done.stdout.splitlines())) <= 130


def test_an_unknown_run_is_one_message(table, claims) -> None:
    done = claims("feed")
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith("keybench: no run 'feed' in ")
    command = [sys.executable, "-m", "keybench.results.claims"]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)  # all claims, without any results


def test_everything_has_reasons_and_the_commands_that_are_missing(table) -> None:
    text = as_text(table, everything=True)
    assert "NOT TESTABLE   keybench has no adapter for this database." in text
    lines = [line.strip() for line in text.splitlines() if line.strip().startswith("keybench run ")]
    assert set(lines) == {row.command for row in table if row.verdict == "not measured"}


def test_json_has_every_field(table, claims) -> None:
    found = json.loads(claims("1111", "--all", "--json").stdout)
    assert found == [asdict(row) for row in table]
    assert {row["verdict"] for row in found} <= set(VERDICTS)
    told = next(row for row in found if row["claim"] == "calkio-v4" and row["published"] == "69.4 % full")
    assert (told["estimate"], told["low"], told["blocks"], told["run"]) == (70.5, 70.5, 1, "1111111111")
    assert len(json.loads(claims("1111", "--json").stdout)) < len(found)


def test_without_a_run_everything_is_listed() -> None:
    text = as_text(answers([]), everything=True)
    assert "141 claims: 19 reproduced, 6 not reproduced, " in text  # those that are computed
    assert "contradicted" not in text.rpartition("claims: ")[2].splitlines()[0]


def test_the_start_counts_right() -> None:
    start = (ROOT / "docs" / "start.md").read_text(encoding="utf-8")
    assert f"{len(all_claims())} published claims" in " ".join(start.split())


def test_the_document_lists_every_claim_as_the_data_do() -> None:
    document = (ROOT / "docs" / "claims.md").read_text(encoding="utf-8")
    assert document.endswith(catalogue()), "generate it again: see the end of docs/claims.md's first part"
