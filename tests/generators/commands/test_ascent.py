"""In which columns layouts ascend: as they declare, and as is known of the originals."""

from __future__ import annotations

import numpy as np
import pytest

from keybench.generators.commands.ascent import Ascends, ascents
from keybench.generators.commands.columns import ORDERS
from keybench.generators.core.clock import TICKS_PER_MS, TICKS_PER_SECOND, VirtualClock
from keybench.generators.core.entropy import AesEntropy
from keybench.generators.core.layout import layout, layouts
from keybench.generators.core.process import Process
from keybench.model.byteorder import accepts, rank, sort_words
from keybench.model.keys import Keys

NAMES = sorted({known.name for known in layouts().values()})
FOUND = {"always": "strictly", "forward": "strictly", "by time": "by time", "by block": "by time", "no": "no"}


@pytest.mark.parametrize("name", [name for name in NAMES if layout(name).order != "none"])
def test_a_layout_ascends_in_its_own_order_as_declared(name) -> None:
    description = layout(name).description
    assert ascents(layout(name))[layout(name).order] == Ascends(FOUND[description.within], description.across != "no")


@pytest.mark.parametrize("name", [name for name in NAMES if layout(name).order == "none"])
def test_a_layout_without_an_order_ascends_in_none(name) -> None:
    assert {found.within for found in ascents(layout(name)).values()} <= {"no", "refused"}


@pytest.mark.parametrize("name", NAMES)
def test_guids_are_tried_in_every_order_and_other_keys_in_one(name) -> None:
    assert tuple(ascents(layout(name))) == (ORDERS if layout(name).kind == "uuid" else ("rfc",))


@pytest.mark.parametrize(
    ("name", "signs"),
    [
        # From the table of simulated index locality: one process and four.
        ("rt-comb-sql", "no no time+ no time+"),
        ("rt-comb-postgresql", "time+ no no no no"),
        ("jhtodd-string", "time+ no no no refused"),
        ("jhtodd-end", "no no time+ no refused"),
        ("efcore-sequential", "no no strictly no no"),
        ("morris", "no no strictly no refused"),
        ("hotguid", "strictly+ no no strictly refused"),
        # A counter comes first and starts again, after 65,536 keys or 2²⁴.
        ("hotguid-sql", "no no strictly+ no refused"),
        ("buvinghausen-v8time-sql", "no no strictly+ no refused"),
        ("buvinghausen-legacy", "strictly+ no no no refused"),
        ("buvinghausen-legacy-sql", "no no strictly+ no refused"),
        # Processes run ahead of the clock by different spans.
        ("rt-comb-sql-no-repeat", "no no strictly no strictly"),
        ("rt-comb-oracle-legacy-no-repeat", "no strictly no no no"),
        # MariaDB's uuid refuses a GUID in a few hundred.
        ("newsequentialid", "no no strictly no refused"),
        ("newid", "no no strictly+ no refused"),
        ("newid-sequential", "time+ no no no refused"),
        ("percona-ordered-uuid", "strictly+ no no no refused"),
        ("uuid-v4", "no no no no no"),
        ("uuid-v7", "time+ no no no time+"),
    ],
)
def test_columns_of_known_layouts(name, signs) -> None:
    found = ascents(layout(name))
    words = [found[order].within.removeprefix("by ") + "+" * found[order].across for order in ORDERS]
    assert words == signs.split()


START = 638_712_864_000_000_000
GUIDS = [name for name in NAMES if layout(name).kind == "uuid"]


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
def test_the_columns_in_which_a_layout_is_marked_do_so_for_many_keys_in_a_row(name) -> None:
    """Three counters of 16 bits long, of another process than those that were looked at."""
    known = layout(name)
    marked = [order for order, found in ascents(known).items() if found.within in {"strictly", "by time"}]
    time = known.description.time
    if known.description.within == "by block" or not marked:
        return
    step = 3 * (time.resolution if time else TICKS_PER_MS)
    number = min(200_000, ((time and time.period) or 1 << 62) // (2 * step))
    clock = VirtualClock(START + 7 + np.arange(number) * step)
    keys = known.stream(Process("another", 61_003), clock, AesEntropy.seeded(3)).take(number)
    assert {order: len(breaks(keys, order)) for order in marked} == dict.fromkeys(marked, 0)


@pytest.mark.parametrize(
    ("name", "order", "every"),
    [
        ("hotguid", "mssql", 1 << 16),
        ("hotguid-sql", "net", 1 << 16),
        ("buvinghausen-v8time-sql", "mysql-swap", 1 << 16),
    ],
)
def test_orders_that_break_where_a_counter_starts_again_are_not_marked(name, order, every) -> None:
    """Keys a second apart: only the counter explains that they break regularly."""
    clock = VirtualClock(START + np.arange(200_000) * TICKS_PER_SECOND)
    keys = layout(name).stream(Process("another", 61_003), clock, AesEntropy.seeded(3)).take(200_000)
    found = breaks(keys, order)
    assert set(np.diff(found)) == {every}
    assert ascents(layout(name))[order] == Ascends("no", False)


@pytest.mark.parametrize(("name", "order"), [("buvinghausen-legacy", "mssql"), ("buvinghausen-legacy-sql", "net")])
def test_a_counter_of_24_bits_starts_again_too(name, order) -> None:
    number = 1 << 24
    stream = layout(name).stream(
        Process("another", 61_003), VirtualClock(START + np.arange(number) * 10), AesEntropy.seeded(3)
    )
    keys = stream.take(number)[np.arange(0, number, 4_096)]
    assert len(breaks(keys, order)) == 1
    assert ascents(layout(name))[order] == Ascends("no", False)


@pytest.mark.parametrize("name", GUIDS)
def test_mariadbs_uuid_takes_all_keys_of_a_layout_that_is_not_marked_as_refused(name) -> None:
    if ascents(layout(name))["mariadb"].within == "refused":
        return
    mask, bits = (np.packbits(part) for part in layout(name).description.fixed())
    data = np.random.default_rng(5).integers(0, 256, (100_000, 16), np.uint8) & ~mask | bits
    assert accepts(Keys(data, "uuid"), "mariadb").all()


def late_keys(name: str) -> int:
    """Keys of four writers, 40 a second each, that are below a key whose reading is two quanta earlier, or more."""
    rng, known = np.random.default_rng(5), layout(name)
    arrivals = START + np.cumsum(rng.exponential(TICKS_PER_SECOND / 160, 40_000)).astype(np.int64)
    writer = rng.integers(0, 4, len(arrivals))
    data = np.empty((len(arrivals), 16), np.uint8)
    for number in range(4):
        clock = VirtualClock(arrivals[writer == number])
        stream = known.stream(Process("host", number), clock, AesEntropy.seeded(number))
        data[writer == number] = stream.take(len(clock.ticks)).data
    places = rank(Keys(data, "uuid"), known.order)
    earlier = np.searchsorted(arrivals, arrivals - 2 * known.description.time.resolution, side="right")
    highest = np.concatenate([[-1], np.maximum.accumulate(places)])[earlier]
    return int((highest > places).sum())


@pytest.mark.parametrize("name", [name for name in NAMES if name.endswith("-no-repeat")])
def test_processes_whose_timestamps_never_repeat_run_ahead_of_one_another(name) -> None:
    """Far below 250 keys a second: two keys of a process are sometimes less than 4 ms apart."""
    assert late_keys(name) > 0
    assert late_keys(name.removesuffix("-no-repeat")) == 0
    assert not ascents(layout(name))[layout(name).order].across
