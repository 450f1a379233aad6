"""Writes docs/questions.md: questions of docs/questions.toml with what keybench answers. Some minutes.

python -m scripts.questions
"""

import re
import shlex
import textwrap
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import typer

from keybench.advice.answer import answer
from keybench.advice.command import app
from keybench.advice.needs import USUAL, Needs, needs
from keybench.advice.screen import screen
from keybench.errors import UsageError

DOCS: Final = Path(__file__).parent.parent / "docs"
PAGE: Final = DOCS / "questions.md"
_WIDTH: Final = 120
_HEAD: Final = """\
# Questions that people asked

Questions with an address were asked in public; the others are ours. Each is told in our words, under the name of its
thread, with the command that puts it to keybench and the answer that the command prints, without its table and code.
What the thread does not say is *assumed*. No answer used a server: they are forecasts
([how they are made](advise.md)). The page models of PostgreSQL, MariaDB, MySQL and SQLite have been compared with live
servers; those of SQL Server and Oracle follow files and what is published, and their answers say so.

`python -m scripts.questions` writes this page from `docs/questions.toml`, and a test compares it with the program."""


@dataclass(frozen=True)
class Question:
    """What somebody asked."""

    name: str
    """Of the thread."""
    ask: str
    """The question in our words."""
    assumed: str
    """What the thread does not say; empty if it says all."""
    commands: Sequence[str]
    address: str = ""
    """Of the thread; empty for a question of ours."""


def questions() -> list[Question]:
    """All of docs/questions.toml."""
    listed = tomllib.loads((DOCS / "questions.toml").read_text(encoding="utf-8"))["question"]
    return [Question(**{"assumed": "", **one}) for one in listed]


def needs_of(command: str) -> Needs:
    """What a `keybench advise` command asks for; no file and no environment has a say."""
    program, name, *options = shlex.split(command)
    if (program, name) != ("keybench", "advise"):
        raise UsageError(f"{command!r} does not ask for advice: begin with keybench advise.")
    with typer.main.get_command(app).make_context("advise", options) as context:
        given = {"type" if key == "key_type" else key: value for key, value in context.params.items()}
    return needs({**USUAL, **{key: value for key, value in given.items() if key in USUAL and value is not None}})


def told(command: str) -> list[str]:
    """What the command prints, without its table and code; of a refusal, the error."""
    try:
        of = answer(needs_of(command))
    except UsageError as error:
        return [f"keybench: {error}"]
    seen = screen(of)
    return [text for text in (f"{seen.do} {seen.why}", f"{seen.second} {seen.when_not}".strip(), seen.basis) if text]


def paragraphs(page: str) -> Mapping[str, list[str]]:
    """The answers of a page, by command: their paragraphs without line breaks."""
    found = re.findall(r"^```\n(keybench .*)\n```\n\n((?:>.*\n)+)", page, re.M)
    return {
        command: [" ".join(part.split()) for part in re.sub(r"^> ?", "", quoted, flags=re.M).split("\n\n")]
        for command, quoted in found
    }


def written(listed: Sequence[Question]) -> str:
    """The page."""
    return "\n\n".join([_HEAD, *(part for number, one in enumerate(listed, 1) for part in _entry(number, one))]) + "\n"


def _entry(number: int, one: Question) -> Iterator[str]:
    yield f"## {number}. {one.name}"
    yield _wrapped(
        one.ask
        + (f" (*Assumed*: {one.assumed}.)" if one.assumed else "")
        + (f" <{one.address}>" if one.address else "")
    )
    for command in one.commands:
        yield f"```\n{command}\n```"
        yield "\n>\n".join(_wrapped(line, "> ") for line in told(command))


def _wrapped(text: str, before: str = "") -> str:
    options: Mapping[str, Any] = {"break_long_words": False, "break_on_hyphens": False}
    return textwrap.fill(text, _WIDTH, initial_indent=before, subsequent_indent=before, **options)


if __name__ == "__main__":
    PAGE.write_text(written(questions()), encoding="utf-8")
