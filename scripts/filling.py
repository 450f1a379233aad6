"""Draws how an index fills under random UUIDs and under UUIDv7, page by page: docs/pictures/filling.svg.

Pages are those of PostgreSQL's page model, at 30 moments of one load; a moment is a frame of the animation.

python -m scripts.filling
"""

from dataclasses import dataclass
from pathlib import Path
from typing import Final

import numpy as np
from numpy.typing import NDArray

from keybench.databases.registry import engine
from keybench.generators.core.clock import UNIX_EPOCH, VirtualClock
from keybench.generators.core.entropy import AesEntropy
from keybench.generators.core.layout import layout
from keybench.generators.core.process import Process
from keybench.model.byteorder import sort_words
from keybench.model.table import Table
from keybench.pagemodels.contract import predict
from keybench.pagemodels.ranking import ranked

_TO: Final = Path(__file__).parents[1] / "docs" / "pictures" / "filling.svg"
_ROWS, _FRAMES, _LAST = 10_500, 30, 12
"""Rows of the load, moments, and rows before each moment whose pages are marked."""
_WIDTH, _LEFT, _PAGE, _GAP, _HIGH = 460, 8, 5.3, 1.5, 88.0
"""Pixels: the picture, its margin, a page, the space between two, the height of a full page. A phone can show it."""
_SECONDS: Final = 9
_PANELS: Final = (("uuid-v4", "Random UUIDs (v4)", 84.0), ("uuid-v7", "UUIDv7", 238.0))


@dataclass(frozen=True, eq=False)
class Moment:
    """The leaf pages when `rows` rows are there: the rows on each, in key order, and the pages of the last rows."""

    rows: int
    on_page: NDArray[np.int64]
    touched: NDArray[np.int64]


def moments(name: str) -> list[Moment]:
    """The moments of a load of keys of this layout, a millisecond apart."""
    on = engine("postgresql")
    column = on.column("uuid")
    model = on.page_model(Table("t", column, payload=100))
    ticks = UNIX_EPOCH + 1_767_225_600 * 10**7 + np.arange(_ROWS, dtype=np.int64) * 10**4
    keys = layout(name).stream(Process("keybench", 1), VirtualClock(ticks), AesEntropy.seeded(1)).take(_ROWS)
    found = []
    for rows in np.linspace(0, _ROWS, _FRAMES + 1)[1:].astype(int).tolist():
        here = keys[:rows]
        on_page = predict(model, column, here).page_rows.astype(np.int64)
        last = ranked(sort_words(here, column.order))[-_LAST:]
        found.append(Moment(rows, on_page, np.unique(np.searchsorted(np.cumsum(on_page), last, side="right"))))
    return found


def _frame(moment: Moment, top: float, room: float, title: str, full: int) -> str:
    """The pages of one moment as SVG: outlines, what is full of each, and those just written to."""
    fills, marks, frames = [], [], []
    for number, rows in enumerate(moment.on_page.tolist()):
        x, high = _LEFT + number * (_PAGE + _GAP), room * min(1.0, rows / full)
        frames.append(f"M{x:.1f} {top}h{_PAGE}v{room}h-{_PAGE}z")
        part = f"M{x:.1f} {top + room}v-{high:.1f}h{_PAGE}v{high:.1f}z"
        (marks if number in moment.touched else fills).append(part)
    share = 100 * moment.rows / (len(moment.on_page) * full)
    written = len(moment.touched)
    said = f"the last {_LAST} rows wrote to {written} {'page' if written == 1 else 'pages'}"
    return (
        f'<path class="o" d="{"".join(frames)}"/><path class="f" d="{"".join(fills)}"/>'
        f'<path class="t" d="{"".join(marks)}"/><text x="{_LEFT}" y="{top - 30}" class="b">{title}: '
        f'{len(moment.on_page)} pages, {share:.0f} % full</text><text x="{_LEFT}" y="{top - 10}">{said}</text>'
    )


def drawing() -> str:
    """The whole picture as SVG."""
    series = [(title, top, moments(name)) for name, title, top in _PANELS]
    full = max(int(moment.on_page.max()) for _, _, found in series for moment in found)
    frames = []
    for number in range(_FRAMES):
        shown = "".join(_frame(found[number], top, _HIGH, title, full) for title, top, found in series)
        rows = f'<text class="r" x="{_WIDTH - _LEFT}" y="22">{series[0][2][number].rows:,} rows</text>'
        last = ' class="last"' if number == _FRAMES - 1 else ""
        delay = (number + 1 - _FRAMES) * _SECONDS / _FRAMES  # the last frame is first, for paper
        frames.append(f'<g{last} style="animation-delay:{delay:.2f}s">{shown}{rows}</g>')
    hold = 100 / _FRAMES
    label = (
        "The pages of an index as rows come. Random UUIDs write to pages everywhere and leave them two thirds full; "
        "UUIDv7 fills one page after another."
    )
    style = (
        "text{font:16px system-ui,sans-serif;fill:#23272e}.b{font-weight:bold}.r{text-anchor:end}"
        ".o{fill:none;stroke:#c9ced6}.f{fill:#5b7fa6}.t{fill:#e0762b}"
        f"g{{visibility:hidden;animation:s {_SECONDS}s step-end infinite}}"
        f"@keyframes s{{0%{{visibility:visible}}{hold:.3f}%{{visibility:hidden}}}}"
        "@media(prefers-reduced-motion){g{animation:none}.last{visibility:visible}}"
    )
    legend = '<tspan class="t">■</tspan> just written to <tspan class="f">■</tspan> other rows'
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH} 358" width="700" role="img" '
        f'aria-label="{label}">\n'
        f"<style>{style}</style>\n"
        '<rect width="100%" height="100%" fill="#fff"/>'
        f'<text x="{_LEFT}" y="22">The leaf pages of a PostgreSQL index</text>\n'
        + "\n".join(frames)
        + f'\n<text x="{_LEFT}" y="348">{legend}</text>\n</svg>\n'
    )


if __name__ == "__main__":
    _TO.write_text(drawing(), encoding="utf-8")
