"""The page in a real browser: it fits a phone, loads nothing and runs no script but its own."""

from dataclasses import replace

import pytest
from matplotlib.image import imread

from keybench.results.report.page import render
from tests.results.report.browser import CHROMIUM, WHY_NOT, evaluated, photograph

pytestmark = pytest.mark.skipif(CHROMIUM is None, reason=WHY_NOT)

PHONES, SCREEN = (360, 390), 1280
EVIL = "<script>window.evil = 1</script><img src=x onerror='window.evil = 2'>\"'&amp;"

FACTS = """(() => {
  const shown = (element) => element.getBoundingClientRect();
  const times = document.querySelector("table.metrics");
  const layouts = () => Array.from(times.tBodies[0].rows, (row) => row.cells[0].textContent);
  const given = layouts();
  const press = () => times.tHead.querySelectorAll("button")[2].click();
  const folded = document.documentElement.scrollHeight;
  const terms = shown(document.querySelector(".terms")).bottom;
  const seen = Array.from(document.querySelectorAll("figure svg")).filter((svg) => svg.checkVisibility()).length;
  for (const fold of document.querySelectorAll("details")) fold.open = true;
  const states = [0, 1, 2].map(() => (press(), [layouts(), times.querySelector("[aria-sort]")?.ariaSort]));
  return {
    width: document.documentElement.scrollWidth,
    loaded: performance.getEntriesByType("resource").length,
    scripts: document.scripts.length,
    evil: window.evil ?? 0,
    images: document.images.length,
    wide: Array.from(document.querySelectorAll(".wide")).every((box) => shown(box).right <= innerWidth),
    scrolls: Array.from(document.querySelectorAll(".wide")).some((box) => box.scrollWidth > box.clientWidth),
    pictures: Array.from(document.querySelectorAll("figure svg"), (svg) => [shown(svg).width, shown(svg).height]),
    finding: shown(document.querySelector("h1")).bottom,
    unfolded: document.documentElement.scrollHeight,
    folded, terms, seen, given, states,
  };
})()"""


@pytest.fixture
def page(fake_run) -> str:
    """A page of a run with long names, several columns, and a layout whose name is a script."""

    def change(trial):
        if trial.layout == "uuid-v7" and trial.block == 2:
            return replace(trial, layout=EVIL, status="error", error=EVIL * 20, readings=(), series=())
        return replace(trial, layout=EVIL) if trial.layout == "uuid-v7" else trial

    layouts = ("bigint-identity", "uuid-v4", "uuid-v7", "jhtodd-sequential-at-end", "efcore-sequential")
    return render(
        fake_run(layouts=layouts, databases=("postgresql",), blocks=6, change=change, warnings=[EVIL]), ["latest"]
    )


def test_the_page_fits_phones_and_screens_loads_nothing_and_runs_no_foreign_script(page, tmp_path) -> None:
    widths = (*PHONES, SCREEN)
    for width, facts in zip(widths, evaluated(page, widths, FACTS, tmp_path), strict=True):
        assert facts["width"] <= width
        assert facts["wide"], "a table extends beyond its box"
        assert facts["scrolls"] or width == SCREEN
        assert (facts["loaded"], facts["images"], facts["evil"]) == (0, 0, 0)
        assert facts["scripts"] == 2  # the page's own, and the one that asks
        assert facts["pictures"]
        assert all(0.7 * min(width, 460) <= across <= width and down > 40 for across, down in facts["pictures"])
        assert facts["finding"] < 800, "the finding is not on the first screen"
        assert facts["terms"] < 800 or width != SCREEN, "the terms are not on the first screen"
        assert facts["seen"] == 3, "pictures that can be seen before anything is unfolded"
        assert facts["folded"] * 2 < facts["unfolded"]
        ascending, descending, again = facts["states"]
        assert again == [facts["given"], None]
        assert ascending[1:] == ["ascending"]
        assert descending == [ascending[0][::-1], "descending"]
        assert EVIL in facts["given"]
    path = tmp_path / "page.html"
    path.write_text(page, encoding="utf-8")
    for width in (SCREEN, PHONES[1]):
        _is_drawn(path, width, 1600)


def _is_drawn(path, width, height) -> None:
    picture = imread(photograph(path, width, height))
    assert picture.shape[:2] == (height, width)
    ink = picture[..., :3].mean(axis=2) < 0.5
    assert 0.01 < ink.mean() < 0.4
    assert all(band.any() for band in (ink[:300], ink[600:900], ink[1200:]))
