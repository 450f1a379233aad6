"""The page model beside the server, in a report."""

from dataclasses import replace

from keybench.model.metric import Metric
from keybench.model.reading import Reading
from keybench.model.subject import MODEL, Subject
from keybench.results.report.page import render
from tests.results.report.page import Page

FEW = ("bigint-identity", "uuid-v4")


def beside(store_of, difference, *, name=MODEL, reason="", blocks=1) -> str:
    """The page of a run in which a model predicted `difference(trial)` leaf pages too many."""

    def change(trial):
        of = {reading.metric: reading.value for reading in trial.readings}
        predicted = (
            Reading(Metric.LEAF_PAGES, of[Metric.LEAF_PAGES] + difference(trial), "modelled", reason, name),
            Reading(Metric.LEAF_DENSITY, of[Metric.LEAF_DENSITY] - 0.25, "modelled", reason, name),
        )
        return replace(trial, readings=(*trial.readings, *predicted))

    return Page(render(store_of(layouts=FEW, databases=("postgresql",), blocks=blocks, change=change), ["latest"])).text


def test_an_exact_model_is_reported_as_exact(fake_run) -> None:
    text = beside(fake_run, lambda trial: 0, blocks=2)
    assert "The model predicts the server's leaf pages exactly in all 4 trials." in text
    assert "m equal" in text
    assert "−0.25 points" in text


def test_an_inexact_model_is_shown_with_its_difference(fake_run) -> None:
    text = beside(fake_run, lambda trial: 50 if trial.layout == "uuid-v4" else 0)
    assert "The model predicts the server's leaf pages exactly in 1 of 2 trials; its largest error is 0." in text
    assert "+50 (+0." in text


def test_a_variant_of_a_model_has_its_own_table_and_note(fake_run) -> None:
    text = beside(fake_run, lambda trial: 0, name=Subject.model("insertion point"), reason="By the planned order.")
    assert "Page model beside the server: insertion point" in text
    assert "By the planned order." in text


def test_predictions_are_not_among_the_measured_values(fake_run) -> None:
    measured = Page(render(fake_run(layouts=FEW, databases=("postgresql",), blocks=1), ["latest"])).downloads()
    text = beside(lambda **given: fake_run(run_id="bbbbbbbbbb", **given), lambda trial: 1e6)
    assert "Page model beside the server" in text
    page = Page(render(fake_run(layouts=FEW, databases=("postgresql",), blocks=1, run_id="cccccccccc"), ["bbbb"]))
    assert page.downloads()["r1g1-order.csv"] == measured["r1g1-order.csv"]


def test_without_a_model_there_is_no_table(fake_run) -> None:
    page = Page(render(fake_run(layouts=FEW, databases=("postgresql",), blocks=1), ["latest"]))
    assert "Page model" not in page.text


def test_the_rules_of_the_modelled_figures_are_named_without_a_table(fake_run) -> None:
    def change(trial):
        (pages,) = (reading for reading in trial.readings if reading.metric == Metric.LEAF_PAGES)
        same, other = (
            replace(pages, origin="modelled", subject=Subject.model(name), value=pages.value + more)
            for name, more in (("as usual", 0), ("otherwise", 7))
        )
        return replace(trial, server="model", readings=(replace(pages, origin="modelled"), same, other))

    page = Page(render(fake_run(layouts=FEW, databases=("postgresql",), blocks=1, change=change), ["latest"]))
    assert "Page model with other rules: as usual The figures above follow these rules." in page.text
    assert "Page model with other rules: otherwise No live server has confirmed which rules are right." in page.text
    assert "+7 (+0." in page.text
