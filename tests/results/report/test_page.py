"""The page: self-contained, escaped, with everything that failed or is absent."""

import csv
import io
import re
from base64 import b64encode
from dataclasses import replace
from hashlib import sha256
from html import unescape
from importlib.resources import files
from urllib.parse import unquote

import pytest

from keybench.model.metric import Metric
from keybench.model.reading import Reading
from keybench.model.subject import Subject
from keybench.results.claims.answers import rows
from keybench.results.report import views
from keybench.results.report.page import render, write_report
from tests.results.conftest import failed, failing
from tests.results.report.page import Page

FEW = ("bigint-identity", "uuid-v4", "uuid-v7")


def read(store, runs=("latest",)) -> Page:
    return Page(render(store, runs))


def test_the_page_is_self_contained(fake_run) -> None:
    text = render(fake_run(layouts=FEW), ["latest"])
    page = Page(text)
    assert {tag for tag, _ in page.tags} & {"link", "iframe", "img", "object", "base"} == set()
    assert "default-src 'none'" in page.attributes("content")[-1]
    for name in ("src", "href", "xlink:href", "action"):
        allowed = ("#", "data:text/csv", "data:application/gzip")
        assert all(value.startswith(allowed) for value in page.attributes(name)), name
    assert "@import" not in text
    assert "url(" not in text.replace("url(#", "")


def test_the_page_has_one_script_and_allows_no_other(fake_run) -> None:
    text = render(fake_run(layouts=FEW), ["latest"])
    (script,) = re.findall(r"<script>(.*?)</script>", text, re.DOTALL)
    assert script == files("keybench.results.report").joinpath("template", "report.js").read_text(encoding="utf-8")
    allowed = b64encode(sha256(script.encode()).digest()).decode()
    assert f"script-src 'sha256-{allowed}'" in unescape(Page(text).attributes("content")[-1])


def test_ids_are_unique_and_every_link_leads_somewhere(fake_run) -> None:
    fake_run(layouts=FEW, run_id="aaaaaaaaaa")
    page = read(fake_run(layouts=FEW, run_id="bbbbbbbbbb", payloads=(0, 100)), ["aaaa", "bbbb"])
    ids = page.attributes("id")
    assert len(ids) == len(set(ids))
    assert {value[1:] for value in page.attributes("href") if value.startswith("#")} <= set(ids)


def test_foreign_text_is_escaped(fake_run) -> None:
    evil = "<script>alert('&amp;')</script>"

    def change(trial):
        if trial.layout == "uuid-v4" and trial.database == "sqlite":
            return failed(trial, evil)
        return replace(trial, layout=evil) if trial.layout == "uuid-v7" else trial

    page = read(fake_run(layouts=FEW, change=change, warnings=[evil]))
    assert [tag for tag, _ in page.tags].count("script") == 1  # our own
    assert page.text.count(evil) > 10
    assert any(evil in text for text in page.attributes("aria-label"))


def test_the_numbers_behind_a_figure_are_the_trials_own(fake_run) -> None:
    store = fake_run(layouts=FEW, blocks=3)
    downloads = read(store).downloads()
    table = csv.DictReader(io.StringIO(unquote(downloads["answer-time.csv"].partition(",")[2])))
    rows = {row["layout"]: row for row in table if row["database"] == "postgresql"}
    assert set(rows) == {"uuid-v4", "uuid-v7"}
    seconds = {
        (trial.block, trial.layout): reading.value
        for trial in store.trials(store.run("latest").id)
        if trial.database == "postgresql"
        for reading in trial.readings
        if reading.metric == Metric.SECOND_HALF_SECONDS
    }
    ratios = sorted(seconds[block, "uuid-v4"] / seconds[block, "bigint-identity"] for block in (1, 2, 3))
    given = [float(rows["uuid-v4"][part]) for part in ("from", "× control", "to")]
    assert given == pytest.approx(ratios)


def test_failed_trials_are_counted_and_their_errors_shown(fake_run) -> None:
    gone = ("uuid-v7", "postgresql")
    page = read(fake_run(layouts=FEW, change=lambda one: failed(one, "the server went away")
                         if (one.layout, one.database) == gone and one.block != 2 else one))  # fmt: skip
    assert "18 trials recorded, 2 failed" in page.text
    assert "Failed trials: 2 of 18" in page.text
    assert "postgresql · uuid-v7 · uuid, blocks 1, 3 the server went away" in page.text
    assert "uuid-v7 uuid 1 of 3" in page.text


def test_a_failed_prediction_is_named_once_and_no_traceback_is_shown(fake_run) -> None:
    page = read(fake_run(layouts=FEW, change=lambda trial: replace(trial, traceback="ValueError: in /home/jane")))
    assert "Failed trials" not in page.text
    assert "/home/jane" not in page.text
    shown = page.text.partition("Failed predictions")[2]
    assert "postgresql · bigint-identity · bigint, blocks 1, 2, 3; postgresql · uuid-v" in shown
    assert shown.count("The page model's prediction failed.") == 1


def test_a_layout_whose_trials_all_failed_stays_in_the_tables(fake_run) -> None:
    page = read(fake_run(layouts=FEW, databases=("sqlite",), change=failing("uuid-v7", "no room")))
    assert "uuid-v7 binary16 0 of 3 –" in page.text
    assert "Every trial failed; the errors are listed above." in page.text


def test_an_absent_metric_has_a_reason_and_never_a_zero(fake_run) -> None:
    page = read(fake_run(layouts=FEW, databases=("sqlite",)))
    reason = "SQLite keeps no log that outlives a transaction."
    assert f"Log written Not drawn. No log or full-page images: {reason}" in page.text
    assert page.text.count(reason) == 2  # for the figure, and under the tables
    assert "r1g1-log.csv" not in page.downloads()


def test_one_block_has_no_interval(fake_run) -> None:
    assert "One block gives no interval; use --blocks 6." in read(fake_run(layouts=FEW, blocks=1)).text
    few = read(fake_run(layouts=FEW, blocks=3, run_id="1234"), ["1234"]).text
    assert "3 blocks are too few to compare times at 5 %: measure with --blocks 6." in few
    assert "--blocks 6" not in read(fake_run(layouts=FEW, blocks=6, run_id="5678"), ["5678"]).text


def test_without_the_control_there_are_no_ratios(fake_run) -> None:
    page = read(fake_run(layouts=FEW, databases=("postgresql",), change=failing("bigint-identity", "killed")))
    assert "times are not compared, because bigint-identity has no successful trial" in page.text
    assert "answer-time.csv" not in page.downloads()
    assert "r1g1-order.csv" in page.downloads()


def test_a_run_without_trials_has_a_page(fake_run) -> None:
    page = read(fake_run(change=lambda trial: None))
    assert "keybench report No trial is recorded yet. No trial is recorded yet. Run 5ca1ab1e00" in page.text


def test_machine_versions_settings_seed_and_cache_are_named(fake_run) -> None:
    text = read(fake_run(layouts=FEW, databases=("postgresql",))).text
    named = ("seed 7", "Example 9000", "memory 16 GiB", "postgresql 18.1", "shared_buffers 64MB", "profile durable")
    assert [wanted for wanted in named if wanted not in text] == []
    assert "64 MiB; largest key index" in text
    assert "times the cache" in text


def test_a_very_small_value_keeps_a_digit(fake_run) -> None:
    def change(trial):
        small = Reading(Metric.LOG_PAGE_IMAGES, {"uuid-v4": 0.00004, "uuid-v7": 0.5}.get(trial.layout, 1.0), "measured")
        return replace(trial, readings=(*(r for r in trial.readings if r.metric != small.metric), small))

    text = read(fake_run(layouts=FEW, databases=("postgresql",), blocks=1, change=change)).text
    assert "uuid-v7 uuid" in text
    assert " 0.00004 " in text
    assert " 0.500 " in text


@pytest.mark.parametrize("writers", [2, 21])
def test_the_lag_of_each_writer_is_a_table_that_is_folded_if_it_is_long(fake_run, writers: int) -> None:
    names = [f"web-{i}" for i in range(1, writers + 1)]

    def change(trial):
        own = [
            Reading(metric, 4321.0 if name == names[-1] else 0.0, "derived", "", Subject.writer(name))
            for name in names
            for metric in (Metric.LAGGING_INSERTS, Metric.LAG_ROWS_P50)
        ]
        return replace(trial, blobs=(), readings=(*trial.readings, *own))

    page = read(fake_run(layouts=FEW, databases=("postgresql",), change=change))
    assert page.attributes("aria-label").count("Lag of each writer") == 1
    assert "Layout Column Writer Inserts that lag % of inserts ↓ Lag, median rows ↓" in page.text
    second = "4,321.0 d 4,321 d" if writers == 2 else "0.0 d 0 d"
    assert f"uuid-v4 uuid web-1 0.0 d 0 d uuid-v4 uuid web-2 {second}" in page.text
    assert ("Lag of each writer, 63 rows" in page.text) == (writers == 21)


def test_modelled_groups_are_marked(fake_run) -> None:
    page = read(fake_run(layouts=FEW, databases=("sqlite",), change=lambda trial: replace(trial, server="model")))
    assert "modelled, no server" in page.text


@pytest.mark.parametrize(("database", "product"), [("mssql", "SQL Server"), ("oracle", "Oracle Database")])
def test_products_whose_licences_restrict_publishing_are_named(fake_run, database, product) -> None:
    page = read(fake_run(layouts=FEW, databases=("sqlite",), change=lambda trial: replace(trial, database=database)))
    assert f"The licence of {product} restricts publishing benchmark results" in page.text


@pytest.mark.parametrize("name", ["", "\n"])
def test_a_layout_whose_name_is_no_word_is_drawn(fake_run, tmp_path, name) -> None:
    names = {FEW[0]: FEW[0], FEW[1]: name}
    store = fake_run(layouts=FEW[:2], databases=("sqlite",), change=lambda one: replace(one, layout=names[one.layout]))
    path = write_report(store, ["latest"], tmp_path / "report.html")
    assert Page(path.read_text(encoding="utf-8")).tags


def test_answered_claims_are_shown_and_the_others_are_counted(fake_run) -> None:
    store = fake_run(layouts=FEW, blocks=6)
    found = [row for row in rows(store, ["latest"]) if row.database]
    assert found
    page = read(store)
    assert page.text.count(found[0].statement) == 1
    for row in found:
        assert " ".join(row.ours.split()) in page.text
    others = len({row.claim for row in rows(store, ["latest"])} - {row.claim for row in found})
    assert f"{others} more claims need other work or cannot be tested here." in page.text
    assert "This command lists them all: keybench compare 5ca1ab1e00 --claims --all" in page.text


def test_the_page_has_all_values_or_the_command_that_exports_them(fake_run, monkeypatch) -> None:
    store = fake_run(layouts=FEW, blocks=1)
    count = sum(len(trial.readings) for trial in store.trials("5ca1ab1e00"))
    downloads = read(store).downloads()
    table = list(csv.DictReader(io.StringIO(unquote(downloads["keybench-5ca1ab1e00.csv"].partition(",")[2]))))
    assert len(table) == count
    monkeypatch.setattr(views, "MOST_VALUES", count - 1)
    page = read(store)
    assert not any("keybench-" in name for name in page.downloads())
    assert f"{count:,} values are too many to include in this page." in page.text
    assert "keybench export 5ca1ab1e00 -o 5ca1ab1e00.csv" in page.text


def test_the_verdict_names_product_version_and_work(fake_run) -> None:
    text = read(fake_run(layouts=FEW, databases=("postgresql",), blocks=6)).text
    assert "Work: 2,000,000 rows with 100 characters beside the key" in text
    assert text.count("On PostgreSQL 18.1, ") >= 2, "on the first screen, and with the group"
    assert text.index("On PostgreSQL") < text.index("All else is folded") < text.index("All metrics")
