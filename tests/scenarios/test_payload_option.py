"""Payloads on the command line and in scenario files."""

from __future__ import annotations

import pytest

from keybench.errors import UsageError
from keybench.model.payload import PayloadLengths
from keybench.scenarios.files import load_scenario, parse_scenario, with_payload

MINIMAL = 'title = "t"\nrows = 10\nstart = 2026-01-01T00:00:00Z\n[table]\n'
QUICK = load_scenario("quick")


@pytest.mark.parametrize(
    ("text", "payloads"),
    [
        ("0", (PayloadLengths(0, 0),)),
        ("0-200", (PayloadLengths(0, 200),)),
        ("1-9:zipfian", (PayloadLengths(1, 9, "zipfian"),)),
        ("100, 4-7:row-number", (PayloadLengths(100, 100), PayloadLengths(4, 7, "row-number"))),
    ],
)
def test_an_option_replaces_the_scenarios_payloads_and_names_itself(
    text: str, payloads: tuple[PayloadLengths, ...]
) -> None:
    changed = with_payload(QUICK, text)
    assert changed.table.payloads == payloads
    assert changed.name == f"quick, payload {text}"
    assert changed.table.key == QUICK.table.key


@pytest.mark.parametrize(
    "text", ["x", "-1", "5-5", "9-3", "0-200:normal", "0-200:", "1,,2", "1-2-3", "1000001", "7,0-7"]
)
def test_other_texts_are_refused(text: str) -> None:
    with pytest.raises(UsageError) as refused:
        with_payload(QUICK, text)
    assert str(refused.value) == (
        f"--payload {text}: write a number of characters up to 1,000,000, or a range with a distribution (uniform, "
        "zipfian or row-number), as in 100, 0-200 or 0-200:zipfian; several are separated by commas."
    )


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("{ min = 1 }", "table.payload.0.max: Field required"),
        ("{ min = 9, max = 9 }", "table.payload.0: min is below max: for rows of one length write payload = 9"),
        (
            '{ min = 0, max = 3, distribution = "normal" }',
            "table.payload.0.distribution: Input should be 'uniform', 'zipfian' or 'row-number' (it says 'normal')",
        ),
        ("{ min = 0, mox = 3 }", "table.payload.0.mox: no such field, did you mean max?"),
        (
            "[200, { min = 0, max = 200 }]",
            "table: two payloads have up to 200 characters, by which results tell them apart: leave one out",
        ),
    ],
)
def test_what_is_wrong_in_a_file_is_said(line: str, said: str) -> None:
    with pytest.raises(UsageError) as refused:
        parse_scenario("mine", f"{MINIMAL}payload = {line}\n", where="mine.toml")
    assert f"  {said}" in str(refused.value).splitlines()


def test_a_range_in_a_file() -> None:
    table = parse_scenario("mine", MINIMAL + "payload = [100, { min = 0, max = 200 }]\n", where="mine.toml").table
    assert table.payloads == (PayloadLengths(100, 100), PayloadLengths(0, 200))
    assert [one.varying for one in table.payloads] == [None, PayloadLengths(0, 200)]
