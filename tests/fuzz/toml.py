"""A tree as TOML, also one that TOML does not have: what tomllib refuses must be refused by keybench, too."""

import json
import math
import tomllib
from datetime import datetime
from typing import Any

DATE = "@date "
"""A text that begins so is written as the date and time that follow."""


def tree(text: str) -> Any:
    """The tree of a TOML text, with dates as text."""
    return _plain(tomllib.loads(text))


def _plain(node: Any) -> Any:
    if isinstance(node, dict):
        return {key: _plain(value) for key, value in node.items()}
    if isinstance(node, list):
        return [_plain(value) for value in node]
    return DATE + node.isoformat() if isinstance(node, datetime) else node


def written(node: Any) -> bytes:
    """A table as a TOML file with inline values."""
    if not isinstance(node, dict):
        return _value(node).encode("utf-8", "surrogatepass")
    lines = (f"{_text(str(key))} = {_value(value)}\n" for key, value in node.items())
    return "".join(lines).encode("utf-8", "surrogatepass")


def _value(node: Any) -> str:
    match node:
        case dict():
            return "{" + ", ".join(f"{_text(str(key))} = {_value(value)}" for key, value in node.items()) + "}"
        case list():
            return "[" + ", ".join(map(_value, node)) + "]"
        case None:
            return "null"
        case bool():
            return str(node).lower()
        case float() if not math.isfinite(node):
            return {"nan": "nan", "inf": "inf", "-inf": "-inf"}[str(node)]
        case str() if node.startswith(DATE):
            return node.removeprefix(DATE)
        case str():
            return _text(node)
        case int():
            return f"{node:d}" if abs(node) < 10**300 else "1" + "0" * 400
        case _:
            return repr(node)


def _text(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)
