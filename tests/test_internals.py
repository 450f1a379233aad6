"""Citations of docs/internals: every page and section that code, tests and documents name must exist."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PAGES = ("postgresql", "innodb", "sqlite", "mssql", "oracle", "arrival-order", "versions")
_CITATION = re.compile(r"internals/([\w-]+)\.md((?:(?:,| and| to)?\s+§\d+)*)")
_SECTION = re.compile(r"^## (\d+)\. ", re.MULTILINE)
_ENDINGS = {".py", ".md", ".toml", ".c", ".sql", ".ipynb"}


def sections(page: str) -> set[int]:
    text = (ROOT / "docs" / "internals" / f"{page}.md").read_text(encoding="utf-8")
    return {int(number) for number in _SECTION.findall(text)}


def cited(text: str) -> list[tuple[str, list[int]]]:
    """Pages and sections, also where a citation goes on in the next line of a comment."""
    joined = re.sub(r"\s*\n\s*(?:# )?", " ", text)
    return [(page, [int(n) for n in re.findall(r"§(\d+)", parts)]) for page, parts in _CITATION.findall(joined)]


def files() -> Iterator[Path]:
    """The tree's texts, without the links in keybench/ and without hidden folders."""
    for folder, inside, names in os.walk(ROOT):
        inside[:] = [name for name in inside if not name.startswith((".", "__pycache__"))]
        yield from (Path(folder, name) for name in names if Path(name).suffix in _ENDINGS)


@pytest.mark.parametrize("page", PAGES)
def test_sections_of_a_page_are_numbered_from_one(page: str) -> None:
    found = sections(page)
    assert found == set(range(1, len(found) + 1))


def test_every_citation_names_a_page_and_a_section_that_exist() -> None:
    known = {page: sections(page) for page in PAGES}
    citations = [(path, page, number) for path in files() for page, numbers in cited(path.read_text(encoding="utf-8"))
                 for number in [0, *numbers]]  # fmt: skip
    assert {page for _, page, _ in citations} == set(PAGES)
    wrong = [f"{path.relative_to(ROOT)}: {page}.md §{number}" for path, page, number in citations
             if page not in known or (number and number not in known[page])]  # fmt: skip
    assert not wrong


def test_references_to_a_page_by_its_sections_agree_with_it() -> None:
    for page in PAGES:
        text = (ROOT / "docs" / "internals" / f"{page}.md").read_text(encoding="utf-8")
        own = {int(number) for number in re.findall(r"§(\d+)", text)}
        assert own <= sections(page), page
