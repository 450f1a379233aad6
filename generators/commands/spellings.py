"""The keys that a text can stand for."""

from __future__ import annotations

import re
import uuid
from typing import Final

import numpy as np

from keybench.errors import UsageError
from keybench.generators.core.layout import layouts
from keybench.model.byteorder import PERMUTATIONS
from keybench.model.keys import Bytes, Keys, Order

_GUID: Final = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}|[0-9a-f]{32}")
_SHOWN: Final = 80
"""Characters of a text that a message repeats."""


def parse(text: str, stored: Order = "rfc") -> list[Keys]:
    """The keys, one in each `Keys`, that a text can stand for: a GUID, an integer, bytes in hexadecimal, or itself.

    `stored` is the byte order of a GUID's digits. Raises UsageError for a text that can be no key.
    """
    plain = text.strip()
    digits = plain.lower().removeprefix("urn:uuid:").removeprefix("0x").strip("{}()")
    keys: list[Keys] = []
    if _GUID.fullmatch(digits):
        keys.append(Keys(_unstored(bytes.fromhex(digits.replace("-", "")), stored), "uuid"))
    elif re.fullmatch(r"-?[0-9]{1,19}", plain) and -(1 << 63) <= int(plain) < 1 << 63:
        keys.append(Keys(np.array([int(plain)]), "int"))
    known = {(layout.kind, layout.description.width) for layout in layouts().values()}
    if re.fullmatch(r"([0-9a-f]{2})+", digits) and ("bytes", len(digits) * 4) in known:
        keys.append(Keys(np.frombuffer(bytes.fromhex(digits), np.uint8)[None], "bytes"))
    if re.fullmatch(r"[!-~]+", plain) and ("text", len(plain)) in known:
        keys.append(Keys(np.frombuffer(plain.encode(), np.uint8)[None], "text"))
    if not keys:
        shown = repr(text) if len(text) <= _SHOWN else f"{text[:_SHOWN]!r}… ({len(text):,} characters)"
        raise UsageError(
            f"{shown} is no key of any layout: a GUID has 32 hexadecimal digits, plain or as 8-4-4-4-12; "
            "`keybench list layouts` shows the lengths of other keys."
        )
    return keys


def _unstored(data: bytes, order: Order) -> Bytes:
    """A GUID's bytes in RFC order, from the bytes that a column of that order stores."""
    if order not in PERMUTATIONS:
        raise UsageError(f"bytes in the order {order!r} cannot be turned back: choose from {', '.join(PERMUTATIONS)}.")
    out = np.empty((1, 16), np.uint8)
    out[0, list(PERMUTATIONS[order])] = np.frombuffer(data, np.uint8)
    return out


def key_text(keys: Keys) -> str:
    """A key as text: a GUID, a number, hexadecimal digits, or itself."""
    if keys.kind == "int":
        return str(int(keys.data[0]))
    data = keys.data[0].tobytes()
    if keys.kind == "uuid":
        return str(uuid.UUID(bytes=data))
    text: str = data.decode("ascii", "replace") if keys.kind == "text" else data.hex()
    return text
