"""In which columns layouts ascend: as they declare, and as is known of the originals."""

import numpy as np
import pytest

from keybench.generators.commands.list import ORDERS, Ascends, ascents
from keybench.generators.core.clock import TICKS_PER_MS, VirtualClock
from keybench.generators.core.entropy import AesEntropy
from keybench.generators.core.layout import layout, layouts
from keybench.generators.core.process import Process
from keybench.model.byteorder import accepts, sort_words
from keybench.model.keys import Keys

NAMES = sorted({known.name for known in layouts().values()})


@pytest.mark.parametrize("name", [name for name in NAMES if layout(name).kind != "uuid"])
def test_other_keys_ascend_in_their_one_column_as_declared(name) -> None:
    description = layout(name).description
    within = {"no": "no", "by time": "by time", "by block": "by time"}.get(description.within, "strictly")
    ordered = layout(name).order != "none"
    assert ascents(layout(name)) == {
        "rfc": Ascends(within if ordered else "no", ordered and description.across != "no")
    }


GUIDS = [name for name in NAMES if layout(name).kind == "uuid"]
COLUMNS = {
    "no no no no no": """
        percona-week uuid-v3 uuid-v4 uuid-v5
    """,
    "no no no no refused": """
        uuid-v8-name
    """,
    "no no no strictly+ strictly": """
        mariadb-uuid-v1 mysql-uuid uuid-v1
    """,
    "no no strictly no no": """
        efcore-sequential
    """,
    "no no strictly no refused": """
        morris newsequentialid
    """,
    "no no strictly no strictly": """
        rt-comb-legacy-no-repeat rt-comb-sql-no-repeat
    """,
    "no no strictly+ no refused": """
        buvinghausen-legacy-sql buvinghausen-v7-sql buvinghausen-v8time-sql hotguid-documented-sql hotguid-sql
        morris-corrected masstransit-newid masstransit-newid-process uuidnext-v8-sqlserver
    """,
    "no no time+ no refused": """
        jhtodd-end
    """,
    "no no time+ no time+": """
        jhtodd-end-v4 nhibernate-comb rt-comb-legacy rt-comb-sql
    """,
    "no strictly no no no": """
        rt-comb-oracle-legacy-no-repeat rt-comb-oracle-no-repeat
    """,
    "no time+ no no no": """
        jhtodd-binary-v4 marten-2016 pomelo-mysql-little-endian rt-comb-oracle rt-comb-oracle-legacy
    """,
    "no time+ no no refused": """
        jhtodd-binary
    """,
    "strictly no no no no": """
        oracle-sys-guid rt-comb-postgresql-legacy-no-repeat rt-comb-postgresql-no-repeat
    """,
    "strictly+ no no no refused": """
        buvinghausen-legacy buvinghausen-v8time flakeid masstransit-newid-to-sequential
        masstransit-newid-to-sequential-process percona-ordered-uuid ulid-monotonic
    """,
    "strictly+ no no no strictly+": """
        buvinghausen-v7 mariadb-uuid-v7 postgresql-uuidv7 uuid-v6 uuid-v7-counter uuid-v7-monotonic-random
    """,
    "strictly+ no no strictly refused": """
        hotguid hotguid-documented
    """,
    "time+ no no no no": """
        jhtodd-string-v4 marten pomelo-mysql rt-comb-postgresql rt-comb-postgresql-legacy tvondra-sequence
        tvondra-time
    """,
    "time+ no no no refused": """
        jhtodd-string masstransit-newid-sequential masstransit-newid-sequential-process ulid uuid-v8-time
    """,
    "time+ no no no time+": """
        dotnet-v7 uuid-v7 uuid-v7-precise
    """,
}
"""The columns in the order of `ORDERS`, as samples of keys showed them; a plus where processes ascend together.

The table of simulated index locality, one process and four, has some of them too. In hotguid-sql and others a counter
comes first where there is no mark, and starts again. Processes with timestamps that never repeat run ahead of the clock
by different spans. MariaDB's uuid refuses a GUID in a few hundred of masstransit-newid or newsequentialid.
"""


def test_columns_of_every_layout_of_guids() -> None:
    signs = {}
    for name in GUIDS:
        columns = ascents(layout(name))
        assert list(columns) == list(ORDERS)
        words = " ".join(columns[order].within.removeprefix("by ") + "+" * columns[order].across for order in ORDERS)
        signs.setdefault(words, set()).add(name)
    assert signs == {words: set(names.split()) for words, names in COLUMNS.items()}


START = 638_712_864_000_000_000


LATE = {
    "buvinghausen-legacy": ["mssql"], "buvinghausen-legacy-sql": ["net"], "oracle-sys-guid": ["mariadb"],
    "mariadb-uuid-v1": ["rfc"], "mysql-uuid": ["rfc"], "uuid-v1": ["rfc"], "newsequentialid": ["net"],
}  # fmt: skip
"""Columns in which keys break later than in 200,000 of them: counters of 24 bits and more, and 429 s of a UUIDv1."""


def breaks(keys: Keys, order) -> np.ndarray:
    """The places of keys that are not above the one before."""
    words = sort_words(keys, order)
    above = np.zeros(len(words) - 1, np.bool_)
    level = ~above
    for word in words.T:
        above |= level & (word[1:] > word[:-1])
        level &= word[1:] == word[:-1]
    return np.flatnonzero(~above) + 1


@pytest.mark.parametrize("name", GUIDS)
def test_many_keys_in_a_row_ascend_in_the_columns_that_are_marked_and_in_no_other(name) -> None:
    """Three counters of 16 bits long. A counter of 24 bits does not start again in so few keys."""
    known = layout(name)
    marked = [order for order, found in ascents(known).items() if found.within in {"strictly", "by time"}]
    others = [order for order, found in ascents(known).items() if found.within == "no"]
    time = known.description.time
    if known.description.within == "by block":
        return
    step = 3 * (time.resolution if time else TICKS_PER_MS)
    number = min(200_000, ((time and time.period) or 1 << 62) // (2 * step))
    clock = VirtualClock(START + 7 + np.arange(number) * step)
    keys = known.stream(Process("another", 61_003), clock, AesEntropy.seeded(3)).take(number)
    assert {order: len(breaks(keys, order)) for order in marked} == dict.fromkeys(marked, 0)
    assert [order for order in others if not len(breaks(keys, order))] == LATE.get(name, [])


@pytest.mark.parametrize("name", GUIDS)
def test_mariadbs_uuid_takes_all_keys_of_a_layout_that_is_not_marked_as_refused(name) -> None:
    if ascents(layout(name))["mariadb"].within == "refused":
        return
    mask, bits = (np.packbits(part) for part in layout(name).description.fixed())
    data = np.random.default_rng(5).integers(0, 256, (100_000, 16), np.uint8) & ~mask | bits
    assert accepts(Keys(data, "uuid"), "mariadb").all()
