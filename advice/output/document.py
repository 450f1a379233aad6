"""An answer as one self-contained HTML page that needs no script."""

import re
from importlib.resources import files
from typing import Final

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup, escape

import keybench
from keybench.advice import sentences
from keybench.advice.answer import Answer
from keybench.advice.output import table
from keybench.advice.screen import screen, steps

_CODE: Final = re.compile(r"`([^`]+)`")
_UNIT: Final = re.compile(r"(?<=\d) (?=%|×|[KMGT]?B\b)|(?<=×) (?=as\b|the\b)")  # the space before: 3 GB; 2 × as large


def page(answer: Answer) -> str:
    """The page as HTML: the answer first, then how to do it, then the figures."""
    environment = Environment(
        loader=PackageLoader("keybench.advice.output", "template"),
        undefined=StrictUndefined,
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters |= {"code": _code, "sql": table.sql}
    seen = screen(answer)
    css = (files("keybench.results") / "report/template/report.css").read_text("utf-8")
    return environment.get_template("advice.html.jinja").render(
        answer=answer,
        screen=seen,
        paragraphs=sentences.more(answer),
        css=Markup(css),  # noqa: S704 (our own file)
        database=f"{answer.needs.on.title} {answer.needs.version}",
        layouts=table.answer_table(answer),
        option_head=table.OPTION_HEAD,
        options=[(steps(answer, one), row) for one, row in zip(answer.options, table.option_rows(answer), strict=True)],
        version=keybench.__version__,
    )


def _code(text: str) -> Markup:
    """Text whose names in backticks are code, and whose numbers stay with their units."""
    unbroken = _UNIT.sub("\u00a0", str(escape(text)))
    return Markup(_CODE.sub(r"<code>\1</code>", unbroken))  # noqa: S704 (escaped)
