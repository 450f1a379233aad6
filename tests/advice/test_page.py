"""The page of an answer in Chromium: nothing is wider than a phone, folded or not."""

from pathlib import Path

import pytest

from keybench.advice.answer import answer
from keybench.advice.needs import USUAL, needs
from keybench.advice.output.document import page
from tests.results.report.browser import CHROMIUM, WHY_NOT, evaluated

WIDER = (
    "{wide: [...document.querySelectorAll('body *')].filter((one) => one.getBoundingClientRect().right > innerWidth + 1"
    " && !one.closest('.wide')).map((one) => one.textContent.slice(0, 60)),"
    " cut: [...document.querySelectorAll('.wide th[scope=row]')].filter((one) =>"
    " one.getBoundingClientRect().width > innerWidth / 2).length,"
    " scrolls: [...document.querySelectorAll('.wide')].findIndex((one) => one.scrollWidth > one.clientWidth)}"
)


@pytest.mark.long
@pytest.mark.skipif(CHROMIUM is None, reason=WHY_NOT)
def test_nothing_is_wider_than_the_window(tmp_path: Path) -> None:
    of = answer(needs({**USUAL, "db": "sqlite", "rows": "20000", "made_by": "client", "existing": "uuid-v4:10000"}))
    text = page(of).replace('<details class="fold">', '<details class="fold" open>')
    assert text.count(" open>") >= 8
    for found in evaluated(text.replace("style-src", "script-src 'self'; style-src", 1), (390, 1280), WIDER, tmp_path):
        assert (found["wide"], found["cut"]) == ([], 0)
        assert found["scrolls"] != 0  # the answer's table, the first one, shows "use when" on a phone
