"""A site of many runs: whole without a network and without a script, and without what a licence forbids to publish."""

import json
import zipfile
from dataclasses import replace
from pathlib import Path

import pytest
from typer.main import get_command

from keybench.errors import UsageError
from keybench.results.bundle.writing import write_bundle
from keybench.results.report.page import render
from keybench.results.site.command import app
from keybench.results.site.writing import published, write_site
from tests.errors import raised
from tests.results.report.browser import CHROMIUM, WHY_NOT, evaluated
from tests.results.report.page import Page

FEW = ("bigint-identity", "uuid-v4", "uuid-v7")


def made(folder: Path, *names: str, small: bool = True) -> Path:
    """The folder of a site of these runs of `results.sqlite` beside it."""
    return write_site(published(names, str(folder / "results.sqlite"), small=small), folder / "site").parent


def test_every_link_leads_to_a_file_of_the_site_and_nothing_is_loaded(fake_run, tmp_path) -> None:
    fake_run(layouts=FEW, run_id="aaaaaaaaaa", blocks=1)
    fake_run(layouts=FEW, run_id="bbbbbbbbbb", blocks=2, databases=("sqlite",))
    site = made(tmp_path, "aaaa", "bbbb")
    pages = {path: Page(path.read_text(encoding="utf-8")) for path in site.rglob("*.html")}
    assert len(pages) == 3
    for path, page in pages.items():
        assert {tag for tag, _ in page.tags} & {"link", "iframe", "img", "object", "base"} == set()
        for link in page.attributes("href"):
            if link.startswith("data:"):
                continue
            name, _, anchor = link.partition("#")
            target = (path.parent / name).resolve() if name else path
            assert target.is_relative_to(site.resolve()), link
            assert target.is_file(), link
            if anchor:
                assert anchor in pages[target].attributes("id"), link
    first = pages[site / "index.html"]
    assert len([tag for tag, about in first.tags if tag == "section" and "data-database" in about]) == 13 + 6
    assert not any("hidden" in about for tag, about in first.tags if tag in {"section", "tr", "details"})
    assert "On PostgreSQL 18.1, random UUIDs need 29 % more pages than UUIDv7" in first.text.replace("\u00a0", " ")
    assert "once, which proves nothing" in first.text
    assert json.loads((site / "site.json").read_text(encoding="utf-8"))["runs"] == ["aaaaaaaaaa", "bbbbbbbbbb"]


def test_absolute_times_of_restricted_databases_stay_out(fake_run, tmp_path) -> None:
    """Each absolute time here is written with the same digits; each page that is not published has them."""

    def change(trial):
        factor = 158_387_034.0 if trial.layout == "uuid-v4" else 79_193_517.0
        readings = tuple(replace(one, value=factor) if one.metric.definition.is_time else one for one in trial.readings)
        database = {"sqlite": "oracle", "postgresql": "mssql"}[trial.database]
        return replace(trial, database=database, readings=readings, seconds=79_193_517.0, series=())

    store = fake_run(layouts=FEW, change=change, blocks=1)
    digits = ("79,193,517", "79193517", "158,387,034", "158387034")
    assert [text for text in digits if text in render(store, ["latest"])] == [*digits]
    store.close()
    site = made(tmp_path, "latest", small=False)
    files = {str(path): path.read_bytes() for path in site.rglob("*") if path.is_file()}
    for path in site.rglob("*.zip"):
        with zipfile.ZipFile(path) as archive:
            files |= {name: archive.read(name) for name in archive.namelist()}
    assert len(files) > 5
    for name, content in files.items():
        assert [text for text in digits if text.encode() in content] == [], name
    index = Page((site / "index.html").read_text(encoding="utf-8")).text
    assert "Insert time × control" in index
    assert "uuid-v4 uuid 2" in index
    report = Page((site / "runs" / "5ca1ab1e00" / "index.html").read_text(encoding="utf-8")).text
    assert "uuid-v4 uuid 2.00×" in report
    assert "The licence of SQL Server restricts publishing times: only ratios to the control are shown." in report


def test_a_bundle_is_a_run_of_a_site_and_a_later_site_takes_the_place_of_the_earlier(fake_run, tmp_path) -> None:
    store = fake_run(layouts=FEW, databases=("sqlite",), blocks=1)
    write_bundle(store, "latest", tmp_path / "sent.zip")
    store.close()
    (tmp_path / "results.sqlite").unlink()
    fake_run(layouts=FEW, databases=("sqlite",), blocks=1, run_id="beef").close()
    site = made(tmp_path, str(tmp_path / "sent.zip"), "beef")
    (site / "README.md").write_text("ours", encoding="utf-8")
    assert sorted(path.name for path in (site / "runs").iterdir()) == ["5ca1ab1e00", "beef"]
    again = site / "runs" / "5ca1ab1e00" / "keybench-5ca1ab1e00.zip"
    assert again.read_bytes() == (tmp_path / "sent.zip").read_bytes()
    made(tmp_path, "beef")
    assert sorted(path.name for path in (site / "runs").iterdir()) == ["beef"]
    assert sorted(path.name for path in site.iterdir()) == ["README.md", "index.html", "runs", "site.json"]


def test_a_folder_with_other_things_is_refused(fake_run, tmp_path) -> None:
    fake_run(layouts=FEW, databases=("sqlite",), blocks=1).close()
    runs = published(["latest"], str(tmp_path / "results.sqlite"), small=True)
    said = raised(UsageError, write_site, runs, tmp_path)
    assert said == f"{tmp_path} is not empty and holds no site of keybench: give -o a new folder."
    assert [path.name for path in tmp_path.iterdir()] == ["results.sqlite"]
    said = raised(UsageError, write_site, runs, tmp_path / "results.sqlite")
    assert said == f"{tmp_path / 'results.sqlite'} is a file: give -o a folder."


def test_verify_names_every_bundle_that_does_not_fit(fake_run, tmp_path, monkeypatch, capsys) -> None:
    store = fake_run(layouts=FEW, databases=("sqlite",), blocks=1)
    write_bundle(store, "latest", tmp_path / "good.zip")
    content = (tmp_path / "good.zip").read_bytes()
    (tmp_path / "cut.zip").write_bytes(content[: len(content) // 2])
    (tmp_path / "other.zip").write_bytes(b"")
    monkeypatch.chdir(tmp_path)
    with pytest.raises(UsageError) as caught:
        get_command(app)(["--verify", "cut.zip", "good.zip", "other.zip"], standalone_mode=False)
    count = sum(len(trial.readings) for trial in store.trials("5ca1ab1e00"))
    assert capsys.readouterr().out == f"good.zip: run 5ca1ab1e00, {count} values; sums and schema fit\n"
    assert caught.value.exit_code == 2
    assert str(caught.value) == (
        "cut.zip is no bundle, or a damaged one: name a file of `keybench export --bundle`.\n"
        "other.zip is no bundle, or a damaged one: name a file of `keybench export --bundle`."
    )
    assert not (tmp_path / "site").exists()


FACTS = """(() => {
  const figures = () => Array.from(document.querySelectorAll(".chapter section")).filter((one) => !one.hidden);
  const select = (name, value) => {
    const one = document.querySelector(`select[name=${name}]`);
    one.value = value;
    one.dispatchEvent(new Event("change", { bubbles: true }));
  };
  const all = figures().length;
  select("database", "sqlite");
  select("metric", "density");
  select("layout", "uuid-v4");
  const rows = figures().map((one) => Array.from(one.querySelectorAll(".bars tr")).filter((row) => !row.hidden).length);
  const seen = figures().filter((one) => one.checkVisibility()).length;
  return { all, rows, seen, address: location.hash, width: document.documentElement.scrollWidth,
           output: document.querySelector("output").value };
})()"""


@pytest.mark.skipif(CHROMIUM is None, reason=WHY_NOT)
def test_the_filters_state_is_in_the_address(fake_run, tmp_path) -> None:
    fake_run(layouts=FEW, blocks=1).close()
    page = (made(tmp_path, "latest") / "index.html").read_text(encoding="utf-8")
    for width, facts in zip((390, 1280), evaluated(page, (390, 1280), FACTS, tmp_path), strict=True):
        assert facts["all"] == 13
        assert (facts["rows"], facts["seen"], facts["output"]) == ([2], 1, "1 figure")  # the layout and the control
        assert facts["address"] == "#database=sqlite&layout=uuid-v4&metric=density"
        assert facts["width"] <= width


def test_another_first_page_has_that_of_the_figures_beside_it(fake_run, tmp_path) -> None:
    fake_run(layouts=FEW, run_id="aaaaaaaaaa", blocks=1)
    runs = published(["aaaa"], str(tmp_path / "results.sqlite"), small=True)
    plain = write_site(runs, tmp_path / "plain")
    first = write_site(runs, tmp_path / "site", "<p>another</p>")
    assert first.read_text(encoding="utf-8") == "<p>another</p>"
    figures = first.with_name("figures.html").read_text(encoding="utf-8")
    assert figures.partition("<footer>")[0] == plain.read_text(encoding="utf-8").partition("<footer>")[0]
