"""An answer as Markdown, and as one self-contained page that needs no script."""

import re
from importlib.resources import files
from typing import Any, Final

from jinja2 import Environment, PackageLoader, StrictUndefined, select_autoescape
from markupsafe import Markup, escape

import keybench
from keybench.advice import sentences
from keybench.advice.answer import Answer
from keybench.advice.output import table
from keybench.advice.output.pictures import pictures

_CODE: Final = re.compile(r"`([^`]+)`")
_UNIT: Final = re.compile(r"(?<=\d) (?=%|×|[KMGT]?B\b)|(?<=×) (?=as\b|the\b)")


def markdown(answer: Answer) -> str:
    """The answer, its figures, and how to do it."""
    headline, reason, *also = sentences.first_screen(answer)
    return _rendered("md", answer, headline=headline, reason=reason, also=also) + "\n"


def page(answer: Answer) -> str:
    """The page as HTML: the answer first, then the figures, then how to do it."""
    drawings = pictures(answer)
    headline, reason, *texts = sentences.first_screen(answer, *(one.caption for one in drawings))
    also, captions = texts[: -len(drawings)], texts[-len(drawings) :]
    css = (files("keybench.results") / "report/template/report.css").read_text("utf-8")
    return _rendered(
        "html",
        answer,
        headline=headline,
        reason=reason,
        also=also,
        css=Markup(css),  # noqa: S704 (our own file)
        asked=sentences.asked(answer),
        pictures=[
            (one, caption, Markup(one.svg))  # noqa: S704 (drawn here)
            for one, caption in zip(drawings, captions, strict=True)
        ],
        version=keybench.__version__,
    )


def _rendered(suffix: str, answer: Answer, **values: Any) -> str:
    """A template with what both documents show."""
    environment = Environment(
        loader=PackageLoader("keybench.advice.output", "template"),
        undefined=StrictUndefined,
        autoescape=select_autoescape(["html.jinja"]),
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters |= {"code": _code, "sql": table.sql, "lines": table.code, "package": table.package}
    return environment.get_template(f"advice.{suffix}.jinja").render(
        answer=answer,
        database=f"{answer.needs.on.title} {answer.needs.version}",
        table=table.cells(answer),
        missing=table.missing(answer),
        option_head=table.OPTION_HEAD,
        options_explained=table.options_explained(answer) if answer.options else "",
        options=[
            (table.steps(answer, one), row) for one, row in zip(answer.options, table.option_rows(answer), strict=True)
        ],
        basis=sentences.basis(answer),
        **values,
    )


def _code(text: str) -> Markup:
    """Text whose names in backticks are code, and whose numbers stay with their units."""
    unbroken = _UNIT.sub("\u00a0", str(escape(text)))
    return Markup(_CODE.sub(r"<code>\1</code>", unbroken))  # noqa: S704 (escaped)
