"""An answer as one self-contained page that needs no script."""

from __future__ import annotations

import re
from importlib.resources import files

from jinja2 import Environment as Templates
from jinja2 import StrictUndefined
from markupsafe import Markup, escape

import keybench
from keybench.advice import sentences
from keybench.advice.answer import Answer
from keybench.advice.output import how, table
from keybench.advice.output.pictures import pictures
from keybench.advice.output.terms import first_screen

_CODE = re.compile(r"`([^`]+)`")
_UNIT = re.compile(r"(?<=\d) (?=%|×|[KMGT]?B\b)|(?<=×) (?=as\b|the\b)")


def page(answer: Answer) -> str:
    """The page as text: the answer first, then the figures, then how to do it."""
    templates = Templates(undefined=StrictUndefined, autoescape=True, trim_blocks=True, lstrip_blocks=True)
    templates.filters |= {"code": _code, "sql": how.sql, "lines": how.code, "package": how.package}
    template = templates.from_string(
        (files("keybench.advice.output") / "template/advice.html.jinja").read_text("utf-8")
    )
    drawn = pictures(answer)
    headline, reason, *told = first_screen(answer, *(one.caption for one in drawn))
    css = (files("keybench.results") / "report/template/report.css").read_text("utf-8")
    return template.render(
        answer=answer,
        css=Markup(css),  # noqa: S704 (our own file)
        headline=headline,
        reason=reason,
        asked=sentences.asked(answer),
        also=told[: -len(drawn)],
        basis=sentences.basis(answer),
        found=table.cells(answer),
        missing=table.missing(answer),
        pictures=[
            (one, caption, Markup(one.svg))  # noqa: S704 (drawn here)
            for one, caption in zip(drawn, told[-len(drawn) :], strict=True)
        ],
        option_head=how.OPTION_HEAD,
        options_explained=how.options_explained(answer) if answer.options else "",
        options=[
            (how.steps(answer, one), row) for one, row in zip(answer.options, how.option_rows(answer), strict=True)
        ],
        version=keybench.__version__,
    )


def _code(text: str) -> Markup:
    """Text whose names in backticks are code, and whose numbers stay with their units."""
    kept = _UNIT.sub("\u00a0", str(escape(text)))
    return Markup(_CODE.sub(r"<code>\1</code>", kept))  # noqa: S704 (escaped)
