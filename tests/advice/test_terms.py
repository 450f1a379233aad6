"""The words of the craft on the first screen."""

import re

import pytest

from keybench.advice.sentences import explained
from keybench.generators.core.layout import layouts

LOG = "the database's record of changes, for recovery after a crash"
PAGES = "blocks of a few KB that PostgreSQL reads and writes at once"
PAGE = PAGES.replace("blocks", "a block")
SPLIT = "half of a full page's rows move to a new page"
MODEL = "a program that fills an index by the rules of the database"


@pytest.mark.parametrize(
    ("texts", "told"),
    [
        (
            ["each insert writes 292 bytes of log instead of 346 and reads no page from disk."],
            [f"each insert writes 292 bytes of log ({LOG}) instead of 346 and reads no page ({PAGE}) from disk."],
        ),
        (
            ["It takes 7 % more bytes (index, log and reads)."],
            [f"It takes 7 % more bytes (index, log – {LOG} – and reads)."],
        ),
        (
            ["it splits 22.4 pages for 1,000 rows.", "it splits 0.5 pages; it writes 1.6 × the log."],
            [
                f"it splits 22.4 pages ({PAGES}; {SPLIT}) for 1,000 rows.",
                f"it splits 0.5 pages; it writes 1.6 × the log ({LOG}).",
            ],
        ),
        (
            ["new keys split full pages in half: 6.9 pages are split for 1,000 rows."],
            [f"new keys split full pages ({PAGES}) in half: 6.9 pages are split for 1,000 rows."],
        ),
        (["6.9 pages are split."], [f"6.9 pages ({PAGES}) are split ({SPLIT})."]),
        (
            ["Rests on: a page model.", "In a page model, whole pages get empty."],
            [f"Rests on: a page model ({MODEL}).", f"In a page model, whole pages ({PAGES}) get empty."],
        ),
        (["Catalogues and split tests.", "Nothing else."], None),
    ],
)
def test_each_term_is_explained_where_it_first_stands(texts: list[str], told: list[str] | None) -> None:
    assert explained(texts, "PostgreSQL") == (told or texts)


def test_names_in_backticks_are_no_terms() -> None:
    """No layout is called after a term."""
    assert not [name for name in layouts() if re.search(r"\b(log|pages?|splits?)\b", name)]
