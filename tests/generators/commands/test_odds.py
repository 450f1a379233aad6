"""The share of random values that fit a layout as well as a key does, and the order of layouts that follows from it."""

from dataclasses import dataclass
from functools import cache

import numpy as np
import pytest

from keybench.generators.commands.odds import (
    EARLIEST,
    STRONG,
    alike_chances,
    earliest,
    fit,
    fixed_share,
    latest,
    rank,
    same_bits,
    time_share,
)
from keybench.generators.core.clock import TICKS_PER_DAY, VirtualClock, ticks_of
from keybench.generators.core.entropy import AesEntropy
from keybench.generators.core.layout import Layout, layouts
from keybench.generators.core.process import Process
from keybench.model.keys import Keys

KNOWN = {known.name: known for known in layouts().values()}
NAMES = sorted(KNOWN)
NOW = 639_309_024_000_000_000  # 2026-11-22
Y2020 = 637_134_336_000_000_000
MILLION = 1_000_000
DRAWN = [200_000, pytest.param(MILLION, marks=pytest.mark.long)]


@cache
def random_bytes(width: int) -> np.ndarray:
    return np.random.default_rng(width).integers(0, 256, (MILLION, width), np.uint8)


def random_values(known: Layout, drawn: int) -> Keys:
    """Random values with the layout's fixed bits, or with characters of its alphabet only."""
    description = known.description
    if known.kind == "text":
        data = np.empty((drawn, description.width), np.uint8)
        rng = np.random.default_rng(5)
        for part in description.parts:
            characters = np.frombuffer(description.alphabets[part.letter].encode(), np.uint8)
            data[:, part.start : part.start + part.width] = rng.choice(characters, (drawn, part.width))
        return Keys(data, "text")
    mask, bits = (np.packbits(part) for part in description.fixed())
    data = random_bytes(description.width // 8)[:drawn] & ~mask | bits
    return Keys(data.view(">i8")[:, 0].astype(np.int64) if known.kind == "int" else data, known.kind)


@pytest.mark.parametrize("drawn", DRAWN)
@pytest.mark.parametrize("name", NAMES)
def test_of_many_random_values_as_many_fit_as_the_odds_say(name, drawn) -> None:
    known = KNOWN[name]
    found = fit(known, random_values(known, drawn), NOW)
    if found.times is None and not known.description.counts_to:
        assert found.fits.all(), "its reader refuses nothing"
        assert set(found.chance) == {fixed_share(known)}
        return
    for cut in (earliest(known.description), max(earliest(known.description), Y2020)):
        if known.description.counts_to:
            share, count = known.description.counts_to / 2.0**64, found.plausible.sum()
        else:
            (share,) = time_share(known.description, np.array([cut]), NOW)
            count = (found.plausible & (found.times >= cut)).sum()
        assert abs(count - share * drawn) <= 5 * np.sqrt(share * drawn) + 1
    if found.plausible.any() and found.times is not None:
        times = found.times[found.plausible]
        assert found.chance[found.plausible] == pytest.approx(
            fixed_share(known) * time_share(known.description, times, NOW)
        )


@pytest.mark.parametrize(
    ("name", "share"),
    [("nanoid", 1), ("pushid", 1), ("xid-text", 0.5**20), ("ulid-text", 0.5**25), ("tsid-text", 0.5**12),
     ("cuid2", 26 / 64 * (36 / 64) ** 23), ("ksuid-text", (62 / 64) ** 27)],
)  # fmt: skip
def test_a_random_text_has_64_characters(name, share) -> None:
    assert fixed_share(KNOWN[name]) == pytest.approx(share)


def test_times_of_the_last_year_are_equally_recent() -> None:
    times = np.array([NOW, NOW - 200 * TICKS_PER_DAY, NOW - 365 * TICKS_PER_DAY, NOW - 366 * TICKS_PER_DAY])
    today, summer, year, older = time_share(KNOWN["uuid-v7"].description, times, NOW)
    assert today == summer == year == pytest.approx(366 * TICKS_PER_DAY / (10_000 << 48))
    assert older > year


def test_the_window_begins_with_the_epoch_if_that_is_after_1990() -> None:
    assert earliest(KNOWN["uuid-v7"].description) == EARLIEST
    assert earliest(KNOWN["ksuid"].description) == KNOWN["ksuid"].description.time.first
    keys = Keys(np.zeros((1, 20), np.uint8), "bytes")
    assert fit(KNOWN["ksuid"], keys, NOW).plausible.all()
    assert fit(KNOWN["ksuid"], keys, NOW).chance[0] == pytest.approx(
        (latest(NOW) - KNOWN["ksuid"].description.time.first) / (10**7 << 32)
    )


def test_a_key_of_the_future_or_of_before_1990_is_not_plausible() -> None:
    instants = [ticks_of_year(1989), ticks_of_year(1991), latest(NOW) - 10_000, latest(NOW) + 10_000]
    stream = KNOWN["uuid-v7"].stream(Process("host", 1), VirtualClock(np.array(instants)), AesEntropy.seeded(1))
    found = fit(KNOWN["uuid-v7"], stream.take(4), NOW)
    assert found.fits.all()
    assert found.plausible.tolist() == [False, True, True, False]
    assert found.chance[[0, 3]].tolist() == [1, 1]


def ticks_of_year(year: int) -> int:
    from datetime import UTC, datetime

    return ticks_of(datetime(year, 1, 1, tzinfo=UTC))


@dataclass
class Ranked:
    """How layouts fit keys, and their order: all arrays (layouts, keys)."""

    plausible: np.ndarray
    chance: np.ndarray
    likely: np.ndarray
    place: np.ndarray

    def together(self, form: list[Layout], row: int) -> np.ndarray:
        """The keys for which that layout is in the first place, or cannot be told apart from the one that is."""
        alike = np.zeros(self.place.shape[1], np.bool_)
        for first, known in enumerate(form):
            if same_bits(known, form[row]):
                near = alike_chances(self.chance[first], self.chance[row]) & (self.likely[first] == self.likely[row])
                alike |= (self.place[first] == 0) & self.plausible[first] & self.plausible[row] & near
        return alike


def ranked(keys: Keys) -> tuple[list[Layout], Ranked]:
    """The layouts of the keys' form, and how they rank for each key."""
    width = None if keys.kind == "int" else keys.data.shape[1]
    form = [known for known in KNOWN.values() if known.kind == keys.kind and width in {None, known.key_bytes}]
    fits = [fit(known, keys, NOW) for known in form]
    plausible, chance = (np.stack([getattr(each, name) for each in fits]) for name in ("plausible", "chance"))
    return form, Ranked(plausible, chance, *rank(fits))


def sample(name: str, n: int = 1_000, each: int = 4) -> Keys:
    """Keys of 2020 to 2026 from many processes: other machines, process ids, worker numbers."""
    known, rng, parts = KNOWN[name], np.random.default_rng(len(name)), []
    workers = min(known.description.worker_ids or 1_024, 1_024)
    for number in range(n // each):
        ticks = np.sort(rng.integers(Y2020, NOW, each))
        index = int(rng.integers(workers))
        process = Process(f"host-{rng.integers(1 << 40)}", int(rng.integers(1, 1 << 22)), index=index, of=workers)
        parts.append(known.stream(process, VirtualClock(ticks), AesEntropy.seeded(name, number)).take(each))
    return Keys.concat(parts)


FIRST = {
    # Bits of a process or digest, or random bits without a version, are those of another layout's version by chance.
    # That one fits better, or is the usual random GUID: 1 in 64 for version and variant, 1 in 16 for a version alone.
    "buvinghausen-legacy": 0.96, "buvinghausen-legacy-sql": 0.90, "buvinghausen-v8time-sql": 0.96,
    "jhtodd-binary": 0.96, "jhtodd-end": 0.96, "jhtodd-string": 0.96, "ulid": 0.95, "ulid-monotonic": 0.95,
    "morris": 0.91, "morris-corrected": 0.91, "newid": 0.91, "newid-process": 0.91,
    "newid-sequential": 0.95, "newid-sequential-process": 0.95,
    "newid-to-sequential": 0.95, "newid-to-sequential-process": 0.95,
    "percona-ordered-uuid": 0.95,
    # HotGuid fixes no bits, and one in twenty of all values has its seconds of 2020 or later.
    "hotguid": 0.92, "hotguid-sql": 0.92, "hotguid-documented": 0.92, "hotguid-documented-sql": 0.92,
    # One in a few hundred times of day has a digit 4 in the middle (rt-comb-oracle-legacy), or twelve bits of 0.
    "marten-2016": 0.90, "rt-comb-oracle-legacy": 0.98, "rt-comb-oracle-legacy-no-repeat": 0.98,
    # Hashes and block numbers: a version and random bits, in which one in some hundred finds another layout's time.
    "percona-week": 0.50, "uuid-v3": 0.92, "uuid-v5": 0.92, "uuid-v8-name": 0.75,
    "tvondra-sequence": 0.75, "tvondra-time": 0.95, "ydb-row-key": 0.80, "ydb-column-key": 0.80,
    # Integers without anything to read but a sign: half of them have a time of some other layout.
    "bigint-bit-reversed": 0.65, "tidb-auto-random": 0.60, "tidb-auto-random-100": 0.55,
}  # fmt: skip
"""Layouts of which less than 99 in 100 keys are named first, alone or in a group, and why: the odds say so."""


@pytest.mark.parametrize("name", NAMES)
def test_a_layouts_keys_are_named_first_or_the_odds_say_why_not(name) -> None:
    form, ranking = ranked(sample(name))
    place = form.index(KNOWN[name])
    assert ranking.plausible[place].all()
    together = ranking.together(form, place)
    assert together.mean() >= FIRST.get(name, 0.99)
    missed = np.flatnonzero(~together)
    first = ranking.place.argmin(axis=0)[missed]
    ours, theirs = ranking.chance[place, missed], ranking.chance[first, missed]
    random = np.array([form[row].description.structureless for row in first], np.bool_)
    assert ((theirs <= ours) | random & (ours * STRONG > theirs)).all(), "its odds are better, or it is a random GUID"


def test_random_guids_are_called_random() -> None:
    form, ranking = ranked(sample("uuid-v4", 100_000, each=100_000))
    first = ranking.place.argmin(axis=0)
    assert (first == form.index(KNOWN["uuid-v4"])).mean() >= 0.99
    assert not ({"hotguid", "hotguid-sql", "ulid", "morris"} & {form[row].name for row in set(first[:1_000])})
    assert not ranking.likely[form.index(KNOWN["uuid-v4"])].any()
    assert ranking.likely[form.index(KNOWN["hotguid"])].sum() == 0


def test_a_likely_layout_fits_far_better_than_a_random_guid() -> None:
    keys = sample("rt-comb-sql", 100)
    form, ranking = ranked(keys)
    (comb,) = [row for row, known in enumerate(form) if known.name == "rt-comb-sql"]
    assert ranking.likely[comb].all()
    assert (fit(KNOWN["rt-comb-sql"], keys, NOW).chance * STRONG <= 1 / 64).all()
    assert ranking.place[form.index(KNOWN["uuid-v4"])].min() > 0
