"""`keybench list make`: keys, one a line."""

import sys
from typing import Final

from keybench.generators.core.clock import SystemClock
from keybench.generators.core.entropy import AesEntropy
from keybench.generators.core.layout import layout
from keybench.generators.core.process import Process
from keybench.generators.core.single import Key, objects
from keybench.model.keys import Keys

_CHUNK: Final = 16_384  # keys that are made before they are printed


def print_keys(name: str, number: int) -> None:
    """Prints `number` keys of a layout, by this process and the system's clock; UsageError for an unknown name."""
    stream = layout(name).stream(Process.current(), SystemClock(), AesEntropy.system())
    for start in range(0, number, _CHUNK):
        sys.stdout.writelines(f"{_text(key)}\n" for key in objects(stream.take(min(_CHUNK, number - start))))


def key_text(keys: Keys) -> str:
    """The only key as text: a GUID, a number, hexadecimal digits, or itself."""
    (key,) = objects(keys)
    return _text(key)


def _text(key: Key) -> str:
    return key.hex() if isinstance(key, bytes) else str(key)
