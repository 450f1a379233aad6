"""The picture of published ratios: drawing, text alternative and data."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest

from keybench.results.claims.answers import ClaimRow, answers
from keybench.results.report.claims_section import claims_figure
from keybench.results.report.page import render


@pytest.fixture(scope="module")
def row() -> ClaimRow:
    asked = next(row for row in answers([]) if row.claim == "jt-pg-string-vs-int")
    return replace(
        asked, database="postgresql", server="embedded", estimate=1.12, low=1.08, high=1.2, blocks=6, origin="measured",
        verdict="reproduced", run="5ca1ab1e00",
    )  # fmt: skip


def test_ratios_are_drawn_and_described(row) -> None:
    rows = [
        row,
        replace(row, database="none", verdict="contradicted", estimate=0.5, low=0.4, high=0.6),
        replace(
            row, database="mssql", server="model", origin="modelled", verdict="not reproduced", published_high=None
        ),
        replace(row, unit="%", estimate=70.0),
        replace(row, estimate=None),
    ]
    figure = claims_figure(rows, "x")
    assert figure is not None
    assert figure.alt == (
        "Forest plot of 3 published ratios and ours. In all: 1 reproduced, 1 not reproduced, 1 contradicted."
    )
    assert "Hollow: from a page model." in figure.caption
    texts = re.findall(r"<text[^>]*>([^<]*)</text>", figure.svg)
    assert {"jt-pg-string-vs-int · keys alone", "7.8 % longer", "1.12×", "0.50×", "1×"} <= set(texts)
    assert [data[-1] for data in figure.rows] == ["reproduced", "contradicted", "not reproduced"]
    assert dict(zip(figure.header, figure.rows[0], strict=True))["ratio, high"] == 1.2
    hollow = claims_figure(rows[:2], "x")
    assert hollow is not None
    assert "Hollow" not in hollow.caption


def test_large_ratios_stay_inside_the_picture_and_many_rows_are_cut(row) -> None:
    far = replace(row, estimate=4000.0, low=1e-9, high=1e9)
    figure = claims_figure([far, *[row] * 60], "x")
    assert figure is not None
    assert "The first 48 of 61 are drawn; the numbers list all." in figure.caption
    assert len(figure.rows) == 61
    places = [float(x) for x in re.findall(r"[ML]\s*(-?[\d.]+) ", figure.svg)]
    assert min(places) >= -1
    assert max(places) <= 461


def test_one_ratio_has_no_picture(row) -> None:
    assert claims_figure([row], "x") is None
    assert claims_figure([], "x") is None


def test_the_picture_is_on_the_page_if_runs_answer(fake_run) -> None:
    page = render(fake_run(layouts=("bigint-identity", "uuid-v4", "uuid-v7"), blocks=6), ["latest"])
    assert '<figure id="claims-forest">' in page
    assert "Published ratios and ours" in page
