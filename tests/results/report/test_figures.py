"""Figures: found without being listed, drawn from what trials store, with the origin of their values."""

import csv
import io
import sys
from collections.abc import Callable, Iterable
from dataclasses import replace
from pathlib import Path
from urllib.parse import unquote

import numpy as np
import pytest

from keybench.model.names import CONTROL
from keybench.results.analysis.groups import Group, group_trials
from keybench.results.plots.canvas import Canvas, styles
from keybench.results.report import figures as package
from keybench.results.report.figures import group_figures, known_figures
from keybench.results.report.figures.figure import ReportFigure, evenly_chosen
from keybench.results.report.figures.saturation import saturation
from keybench.results.store import blobs
from keybench.results.store.records import Trial
from tests.results.conftest import LAYOUTS, a_run, trials
from tests.results.report.page import Page

FEW = ("bigint-identity", "uuid-v4", "uuid-v7")


def first_row_and_columns(
    layouts: Iterable[str] = FEW,
    databases: Iterable[str] = ("postgresql",),
    blocks: int = 2,
    change: Callable[[Trial], Trial] = lambda trial: trial,
) -> list[Group]:
    made = trials(tuple(layouts), tuple(databases), blocks, 100_000, (100,), after=False)
    return group_trials(a_run(blocks=blocks), [change(trial) for trial in made], [])


def drawn(groups: list[Group]) -> dict[str, ReportFigure]:
    """All figures of the first group and of the run, by the end of their keys; each is valid SVG."""
    looks = styles((arm.layout for group in groups for arm in group.arms), CONTROL)
    found = [*group_figures(groups[0], looks, "g"), *saturation(groups, looks, "o-saturation")]
    for one in found:
        Page(one.svg)
        assert (one.svg == "") == (not one.rows), one.key
    return {one.key.partition("-")[2]: one for one in found}


def table(one: ReportFigure) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(unquote(one.csv.partition(",")[2]))))


def test_a_new_figure_is_one_module(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text(
        "from keybench.results.report.figures.figure import GroupFigure\n"
        "mine = GroupFigure('mine', 1, 'Mine', 'ms', lambda group, styles, key: 'Why not.')\n"
    )
    monkeypatch.setattr(package, "__path__", [*package.__path__, str(tmp_path)])
    known_figures.cache_clear()
    try:
        mine = drawn(first_row_and_columns())["mine"]
        assert (mine.title, mine.caption, mine.svg) == ("Mine", "Why not.", "")
    finally:
        known_figures.cache_clear()
        sys.modules.pop("keybench.results.report.figures.mine", None)


def test_every_figure_has_a_unique_name_and_place() -> None:
    known = known_figures()
    assert len({one.name for one in known}) == len({one.place for one in known}) == len(known)


def test_a_complete_run_has_every_figure_of_an_index() -> None:
    found = drawn(first_row_and_columns(databases=("postgresql", "sqlite")))
    wanted = {one.name for one in known_figures()} - {"phases", "beyond-memory", "waits"}  # all pages stay in memory
    assert {name for name in wanted if found[name].svg} == wanted


def test_the_page_order_shows_each_leaf_at_its_place() -> None:
    found = drawn(first_row_and_columns())["pages"]
    rows = table(found)
    assert len(rows) == 400
    order = {name: [float(row[f"{name}, place in the file, %"]) for row in rows] for name in FEW}
    assert order[CONTROL] == sorted(order[CONTROL])
    assert order[CONTROL][0] == 0
    assert order[CONTROL][-1] == 100
    assert np.corrcoef(order["uuid-v4"], range(400))[0, 1] < 0.9
    assert found.origin == "Measured."


def test_pages_that_no_server_gave_are_marked_as_the_models() -> None:
    def change(trial: Trial) -> Trial:
        own = tuple(b for b in trial.blobs if trial.layout != "uuid-v4" or b.kind != blobs.PAGES)
        return replace(trial, blobs=own)

    found = drawn(first_row_and_columns(change=change))
    assert found["pages"].origin == "Modelled: uuid-v4; measured: the others."
    values = [float(row["uuid-v4, place in the file, %"]) for row in table(found["pages"])]
    assert values == sorted(values), "the model's map, which is in order"


def test_without_stored_blobs_the_figures_say_so() -> None:
    found = drawn(first_row_and_columns(change=lambda trial: replace(trial, blobs=())))
    assert found["pages"].caption == "No trial stored the order of its pages."
    assert "skew" not in found


def test_insert_positions_have_each_writers_rows_and_need_several_writers() -> None:
    found = drawn(first_row_and_columns())["skew"]
    rows = table(found)
    assert len(rows) == 800
    assert {row["writer of bigint-identity"] for row in rows} == {"first", "second"}
    assert {float(row["bigint-identity, keys present below, %"]) for row in rows} == {100.0}
    assert min(float(row["uuid-v4, keys present below, %"]) for row in rows) < 5
    assert "writer of uuid-v4" not in rows[0], "all arms have the same rows of the same writers"

    def alone(trial: Trial) -> Trial:
        one = blobs.positions(["only"], np.zeros(9, np.int64), np.arange(9.0), np.zeros(9))
        return replace(trial, blobs=(one,) if trial.block == 1 else ())

    assert "skew" not in drawn(first_row_and_columns(change=alone))


@pytest.mark.parametrize(("arms", "most"), [(12, 12), (13, 12), (40, 12), (40, 24)])
def test_the_control_and_evenly_spaced_others_of_many_arms_are_drawn(arms: int, most: int) -> None:
    names = [CONTROL, *(f"layout-{i:02}" for i in range(arms - 1))]
    LAYOUTS.update({name: (i / arms, False) for i, name in enumerate(names) if name != CONTROL})
    try:
        (group,) = first_row_and_columns(names, blocks=1)
    finally:
        for name in names[1:]:
            del LAYOUTS[name]
    chosen, note = evenly_chosen(group, group.arms, most)
    assert len(chosen) == len({arm.name for arm in chosen}) == min(arms, most)
    assert (chosen[0], chosen[-1]) == (group.control, group.arms[-1])
    assert bool(note) == (arms > most)
    places = [group.arms.index(arm) for arm in chosen]
    assert places == sorted(places)
    assert np.diff(places[1:]).max() - np.diff(places[1:]).min() <= 1


def test_characters_that_xml_forbids_are_replaced_and_the_rest_is_escaped() -> None:
    canvas = Canvas(20)
    canvas.text(3, 10, "a\x00b\ud800<&>\ufffe")
    assert Page(canvas.svg("p")).text == "a\ufffdb\ufffd<&>\ufffd"


def test_a_long_table_is_complete_in_the_file_and_cut_on_the_page() -> None:
    long = ReportFigure(
        key="k", title="t", unit="u", caption="c", header=("n",), rows=tuple((float(i),) for i in range(150))
    )
    assert (len(long.shown_rows), long.rest) == (100, "50 more rows in the file.")
    assert len(table(long)) == 150
    assert replace(long, rows=long.rows[:100]).rest == ""


def test_modelled_markers_are_hollow() -> None:
    real = drawn(first_row_and_columns())["order"].svg
    model = drawn(first_row_and_columns(change=lambda trial: replace(trial, server="model")))["order"].svg
    hollow = "fill: var(--paper"
    assert real.count(hollow) == 0
    assert model.count(hollow) >= len(FEW)
