"""Values that break programs, and mutations of bytes, text and trees."""

import json
from random import Random
from typing import Any

NUMBERS = (0, -1, 1, 2, 3.5, 2**31, 2**53, 2**63 - 1, 2**63, -(2**63), 2**64, 10**30, 10**400, 1e308, 5e-324, -0.0)
NOT_FINITE = (float("nan"), float("inf"), float("-inf"))
TEXTS = ("", " ", "\t", "\n", "a", "A" * 300, "name", "nan", "inf", "1e999", "-1", "0x10", "٣", "é", "😀", "a\0b")
TEXTS += (
    "\udcff",
    "../x",
    "/",
    "//",
    "all",
    "none",
    "latest",
    "uuid",
    "a,b",
    ",",
    ",,",
    "a=b",
    "=",
    "%s",
    "{0}",
    "%00",
)
TEXTS += ("[red]x", "[/]", "\x1b[31m", "'", '"', "\\", "`", "$(x)", "2026-01-01", "true", "null", "\ufeff", "\u2028")
TEXTS += ("[/b]x", "%(a)d %%", ":bomb:", "\u202eevil", "\x9b31m", "postgresql//me:x@h/d")
BYTES = (b"\0", b"\xff", b"\xed\xa0\x80", b"\r\n", b"\xef\xbb\xbf", b"[", b"{", b'"', b"=", b"-", b"9" * 40, b"1e999")


def value(rng: Random) -> Any:
    """A number, a text, nothing, or a short list or table of these."""
    kind = rng.randrange(10)
    if kind < 4:
        return rng.choice(NUMBERS)
    if kind == 4:
        return rng.choice(NOT_FINITE)
    if kind < 8:
        return rng.choice(TEXTS)
    if kind == 8:
        return rng.choice((True, False, None))
    inner = [value(rng) for _ in range(rng.randrange(3))]
    return inner if rng.random() < 0.5 else {str(rng.choice(TEXTS[:8])): one for one in inner}


def deep(rng: Random) -> Any:
    """A list or table nested up to some hundred deep, as far as the writer of JSON goes."""
    tree: Any = 1
    for _ in range(rng.choice((3, 60, 150))):
        tree = [tree] if rng.random() < 0.5 else {"a": tree}
    return tree


def changed_bytes(rng: Random, content: bytes) -> bytes:
    """The content with some bytes replaced, inserted, removed, doubled, or cut off."""
    data = bytearray(content)
    for _ in range(rng.choice((1, 1, 2, 4, 12))):
        if not data:
            break
        at = rng.randrange(len(data))
        match rng.randrange(6):
            case 0:
                data[at] = rng.randrange(256)
            case 1:
                data[at] ^= 1 << rng.randrange(8)
            case 2:
                data[at:at] = rng.choice(BYTES) * rng.choice((1, 1, 3))
            case 3:
                del data[at : at + rng.choice((1, 2, 8, 100))]
            case 4:
                end = at + rng.choice((1, 8, 64))
                data[at:at] = data[at:end]
            case _:
                if rng.random() < 0.2:
                    del data[at:]
    return bytes(data)


def changed_tree(rng: Random, tree: Any) -> Any:
    """A copy of a tree of JSON with one part replaced, removed, added or renamed."""
    tree = json.loads(json.dumps(tree))
    parent, key = _place(rng, tree)
    if parent is None:
        return value(rng)
    match rng.randrange(5):
        case 0:
            del parent[key]
        case 1 if isinstance(parent, dict):
            parent[rng.choice(TEXTS)] = parent.pop(key)
        case 2:
            parent[key] = deep(rng)
        case 3 if isinstance(parent, list):
            parent.insert(key, value(rng))
        case _:
            parent[key] = value(rng)
    return tree


def _place(rng: Random, tree: Any) -> tuple[Any, Any]:
    places: list[tuple[Any, Any]] = [(None, None)]

    def visit(node: Any) -> None:
        for key, child in list(node.items() if isinstance(node, dict) else enumerate(node)):
            places.append((node, key))
            if isinstance(child, dict | list):
                visit(child)

    if isinstance(tree, dict | list):
        visit(tree)
    return rng.choice(places)
