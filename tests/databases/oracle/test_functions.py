"""The PL/SQL functions' arithmetic, translated, makes and reads the keys that the layouts of those names do.

No server has run them. The translation below is of the expressions that the scripts hold, which is asserted.
"""

import uuid

from hypothesis import assume, given, settings
from hypothesis import strategies as st

from keybench.databases.oracle.engine import ENGINE
from keybench.databases.registry import script
from tests.databases.combs import decoded, expected

DAY = 864_000_000_000
DAYS_TO_1970 = 25_567
LAST = 39_000 * DAY
examples = settings(max_examples=200, deadline=None)


def new_comb(base: uuid.UUID, ticks: int) -> uuid.UUID:
    ms = ticks // 10_000  # days, hours and minutes are whole milliseconds; TRUNC cuts the seconds' rest
    return uuid.UUID(bytes=bytes.fromhex(f"{ms:012X}") + base.bytes[6:16])


def new_comb_legacy(base: uuid.UUID, ticks: int) -> uuid.UUID:
    day, rest = divmod(ticks, DAY)
    units = (rest * 300 * 2 + 10_000_000) // 20_000_000  # ROUND(seconds * 300)
    days = (day + DAYS_TO_1970 + units // 25_920_000) % 65_536
    return uuid.UUID(bytes=bytes.fromhex(f"{days:04X}{units % 25_920_000:08X}") + base.bytes[6:16])


@examples
@given(st.uuids(), st.integers(0, LAST))
def test_new_comb_equals_the_layout_at_whole_milliseconds(base, ticks) -> None:
    assert new_comb(base, ticks) == expected("rt-comb-postgresql", base, ticks // 10_000 * 10_000)
    assert decoded("rt-comb-postgresql", new_comb(base, ticks)) == ticks // 10_000 * 10_000


@examples
@given(st.uuids(), st.integers(0, LAST))
def test_new_comb_legacy_rounds_where_the_layout_truncates(base, ticks) -> None:
    later = ticks + 16_667
    assume(16_667 <= later % DAY < DAY - 4)
    assume((ticks % DAY * 600 + 10_000_000) // 20_000_000 == later % DAY * 3 // 100_000)
    assert new_comb_legacy(base, ticks) == expected("rt-comb-postgresql-legacy", base, later)


@examples
@given(st.uuids())
def test_any_guid_is_read_or_refused_as_the_layout_does(key) -> None:
    ms, units = int.from_bytes(key.bytes[:6], "big"), int.from_bytes(key.bytes[2:6], "big")
    assert (ms >= 253_402_300_800_000) == (decoded("rt-comb-postgresql", key) is None)
    assert (units > 25_920_000) == (decoded("rt-comb-postgresql-legacy", key) is None)


def test_the_scripts_contain_the_translated_expressions() -> None:
    text = script(ENGINE)
    for expression in (
        "TRUNC(EXTRACT(SECOND FROM since) * 1000)",
        "HEXTORAW(TO_CHAR(ms, 'FM0XXXXXXXXXXX')), UTL_RAW.SUBSTR(NVL(base, DBMS_CRYPTO.RANDOMBYTES(16)), 7, 10)",
        "EXTRACT(SECOND FROM since)) * 300)",
        "MOD(EXTRACT(DAY FROM since) + TRUNC(units / 25920000), 65536)",
        "HEXTORAW(TO_CHAR(days, 'FM0XXX')), HEXTORAW(TO_CHAR(MOD(units, 25920000), 'FM0XXXXXXX'))",
        "IF ms >= 253402300800000 THEN",
        "IF units > 25920000 THEN",
    ):
        assert expression in text
    assert text.count("\n/\n") == 4
    assert text.count("not yet run on a server") == 4
