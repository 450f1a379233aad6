"""In which columns a layout ascends: the byte orders of columns, and what a layout declares.

A layout declares the one order that it was made for. It ascends in others too, if they compare the same bytes first:
HotGuid's seconds come first in two more of them. The tests make keys of every layout and look.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from typing import Final, Literal

from keybench.generators.core.description import Ascent
from keybench.generators.core.layout import Layout
from keybench.model.byteorder import accepts_all, ascend_alike
from keybench.model.keys import Order

ORDERS: Final[Mapping[Order, tuple[str, str, str]]] = {
    "rfc": ("uuid,", "text", "PostgreSQL uuid; CHAR(36), BINARY(16), RAW(16) and BLOB with the bytes of the text"),
    "net": (".NET", "bytes", "RAW(16), BINARY(16) and BLOB with the bytes that .NET's clients bind"),
    "mssql": ("SQL", "Server", "SQL Server uniqueidentifier; binary16-mssql"),
    "mysql-swap": ("MySQL", "swap", "MySQL BINARY(16) filled by UUID_TO_BIN(u, 1)"),
    "mariadb": ("Maria", "uuid", "MariaDB uuid"),
}
"""The heading of each order in the list, in two lines, and the columns that sort by it."""

BY_NAME: Final[Mapping[str, Order]] = {
    "postgresql": "rfc",
    "mysql": "rfc",
    "sqlite": "rfc",
    "text": "rfc",
    "oracle": "net",
    **{order: order for order in ORDERS},
}
"""The order of a column by the name that people use."""

Within = Literal["strictly", "by time", "no", "refused"]
"""`strictly`: each key is above the one before; `by time`: the keys of each time quantum are above those of the one
before; `no`: neither; `refused`: the column refuses some of the keys."""

_WITHIN: Final[Mapping[Ascent, Within]] = {
    "always": "strictly",
    "forward": "strictly",
    "by time": "by time",
    "by block": "by time",
    "no": "no",
}


@dataclass(frozen=True)
class Ascends:
    """How keys ascend in one order: those of one process, and whether those of several processes ascend together."""

    within: Within
    across: bool


@cache
def ascents(layout: Layout) -> Mapping[Order, Ascends]:
    """How keys ascend in each order, for GUIDs; for other kinds in `rfc` alone.

    MariaDB's `uuid` counts as refusing keys unless the fixed bits rule out all that it refuses.
    """
    return {order: _ascends(layout, order) for order in ORDERS if layout.kind == "uuid" or order == "rfc"}


def _ascends(layout: Layout, order: Order) -> Ascends:
    """How keys of one layout ascend in one order, from what the layout declares."""
    description = layout.description
    if layout.kind == "uuid" and not accepts_all(*description.fixed(), order):
        return Ascends("refused", False)
    if layout.order == "none" or not _alike(layout, order, description.steady + description.process):
        return Ascends("no", False)
    return Ascends(_WITHIN[description.within], description.across != "no" and _alike(layout, order, ""))


def _alike(layout: Layout, order: Order, steady: str) -> bool:
    """Whether keys whose parts with letters in `steady` are equal ascend in `order` as in the layout's own order."""
    if layout.kind != "uuid":
        return True
    description = layout.description
    bits, random = description.fixed(), description.where(description.random)
    return ascend_alike(layout.order, order, bits, random, description.where(steady))
