"""The console of every command, which takes all text as text: no markup, no emoji codes, no control characters."""

from collections.abc import Iterable
from typing import Any

from rich.console import Console, ConsoleOptions, RenderableType
from rich.segment import Segment
from rich.status import Status
from rich.text import Text

from keybench.model.printable import printable


class Terminal(Console):
    """A rich console for text that may hold anything."""

    def __init__(self, **options: Any) -> None:
        super().__init__(highlight=False, markup=False, emoji=False, **options)

    def render_str(self, text: str, **options: Any) -> Text:
        """The text as rich measures it; rich calls this for each text that is printed, also in a table."""
        return super().render_str(printable(text), **options)

    def render(self, renderable: RenderableType, options: ConsoleOptions | None = None) -> Iterable[Segment]:
        """The segments that are written, with escapes for what a terminal would obey. Rich's own control sequences are
        segments of their own: these stay as they are."""
        for one in super().render(renderable, options):
            yield one if one.control else one._replace(text=printable(one.text))

    def status(self, status: RenderableType, **options: Any) -> Status:
        """A spinner beside a text. Rich reads markup in any other text that it is given (`Spinner`)."""
        return super().status(Text(status) if isinstance(status, str) else status, **options)
