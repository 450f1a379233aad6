"""The keys that a text can stand for."""

import uuid

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from keybench.errors import UsageError
from keybench.generators.commands.decode import parse
from keybench.generators.commands.list import key_text
from keybench.model.byteorder import PERMUTATIONS, stored
from keybench.model.keys import Keys
from tests.errors import raised

KEY = "d01c25cc-63a7-47cc-b5ba-018e5f3bff48"
BYTES = uuid.UUID(KEY).bytes


@pytest.mark.parametrize(
    "text",
    [
        KEY, KEY.upper(), KEY.replace("-", ""), f"{{{KEY}}}", f"urn:uuid:{KEY}", f"  {KEY}\n",
        f"0x{KEY.replace('-', '')}",
        f"({KEY.upper()})",
    ],
)  # fmt: skip
def test_every_spelling_of_a_guid(text) -> None:
    (keys,) = parse(text)
    assert keys.kind == "uuid"
    assert keys.data.tobytes() == BYTES


@pytest.mark.parametrize("order", sorted(PERMUTATIONS))
@given(guid=st.uuids())
def test_bytes_as_a_column_stores_them(order, guid) -> None:
    keys = Keys(np.frombuffer(guid.bytes, np.uint8).reshape(1, 16), "uuid")
    (back,) = parse(stored(keys, order).tobytes().hex(), order)
    assert key_text(back) == str(guid)


@pytest.mark.parametrize(
    "text",
    ["", "d01c25cc", KEY[:-1], KEY + "0", KEY.replace("d", "g"), "d01c25cc63a7-47cc-b5ba-018e5f3bff48",
     "9" * 19 + "9999", "1.5", "é" * 26,
     "٤٢", "a" * 12 + " " + "a" * 13],
)  # fmt: skip
def test_a_text_that_can_be_no_key_is_refused(text) -> None:
    assert raised(UsageError, parse, text) == (
        f"{text!r} is no key of any layout: a GUID has 32 hexadecimal digits, plain or as 8-4-4-4-12; "
        "`keybench list layouts` shows the lengths of other keys."
    )


def test_mariadbs_bytes_cannot_be_turned_back() -> None:
    said = raised(UsageError, parse, KEY, "mariadb")
    assert said.startswith("bytes in the order 'mariadb' cannot be turned back: choose from rfc, net, ")


def test_a_long_text_is_not_repeated_whole() -> None:
    said = raised(UsageError, parse, "x" * 120_000)
    assert said.startswith(f"{'x' * 80!r}… (120,000 characters) is no key of any layout: ")
    assert len(said) < 300
