"""The share of random values that fit a layout as well as a key does, and the order of layouts that follows from it."""

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
from tests.parameters import first

KNOWN = {known.name: known for known in layouts().values()}
NAMES = sorted(KNOWN)
NOW = 639_309_024_000_000_000  # 2026-11-22
Y2020 = 637_134_336_000_000_000
MILLION = 1_000_000
DRAWN = first(1, [50_000, MILLION])


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


def rankings(keys: Keys) -> list[list[tuple[Layout, float, bool]]]:
    """For each key the layouts that it can be of, the best first, with their chance and whether they are likely."""
    width = None if keys.kind == "int" else keys.data.shape[1]
    form = [known for known in KNOWN.values() if known.kind == keys.kind and width in {None, known.key_bytes}]
    fits = [fit(known, keys, NOW) for known in form]
    return [[(one.layout, float(one.chance[at]), likely) for one, likely in rank(fits, at)] for at in range(len(keys))]


def sample(name: str, n: int = 500, each: int = 4) -> Keys:
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
    "morris": 0.91, "morris-corrected": 0.91, "masstransit-newid": 0.91, "masstransit-newid-process": 0.91,
    "masstransit-newid-sequential": 0.95, "masstransit-newid-sequential-process": 0.95,
    "masstransit-newid-to-sequential": 0.95, "masstransit-newid-to-sequential-process": 0.95,
    "percona-ordered-uuid": 0.95,
    # HotGuid fixes no bits, and one in twenty of all values has its seconds of 2020 or later.
    "hotguid": 0.92, "hotguid-sql": 0.92, "hotguid-documented": 0.92, "hotguid-documented-sql": 0.92,
    # One in a few hundred times of day has a digit 4 in the middle (rt-comb-oracle-legacy), or twelve bits of 0.
    "marten-2016": 0.90, "rt-comb-oracle-legacy": 0.98, "rt-comb-oracle-legacy-no-repeat": 0.98,
    # Hashes and block numbers: a version and random bits, in which one in some hundred finds another layout's time.
    "percona-week": 0.50, "uuid-v3": 0.92, "uuid-v5": 0.92, "uuid-v8-name": 0.75,
    "tvondra-sequence": 0.75, "tvondra-time": 0.95,
    # Integers without anything to read but a sign: half of them have a time of some other layout.
    "bigint-bit-reversed": 0.65,
}  # fmt: skip
"""Layouts of which less than 99 in 100 keys are named first, alone or in a group, and why: the odds say so."""


@pytest.mark.parametrize("name", NAMES)
def test_a_layouts_keys_are_named_first_or_the_odds_say_why_not(name) -> None:
    known, keys, first_or_alike = KNOWN[name], sample(name), 0
    for ranked in rankings(keys):
        ((ours, likely),) = [(chance, likely) for layout, chance, likely in ranked if layout == known]
        first, theirs, first_likely = ranked[0]
        if first_likely == likely and alike_chances(theirs, ours) and (first == known or same_bits(first, known)):
            first_or_alike += 1
        else:  # its odds are better, or it is a random GUID
            assert theirs <= ours or (first.description.structureless and ours * STRONG > theirs)
    assert first_or_alike / len(keys) >= FIRST.get(name, 0.99)


def test_random_guids_are_called_random() -> None:
    every = rankings(sample("uuid-v4", 5_000, each=5_000))
    first = [ranked[0][0].name for ranked in every]
    assert first.count("uuid-v4") >= 0.99 * len(every)
    assert not {"hotguid", "hotguid-sql", "ulid", "morris"} & set(first)
    likely = {layout.name for ranked in every for layout, _, sure in ranked if sure}
    assert not {"uuid-v4", "hotguid"} & likely
