"""Entropy and base GUIDs with given values, to reproduce published keys."""

from __future__ import annotations

import numpy as np

from keybench.generators.core.entropy import Entropy
from keybench.model.keys import Bytes


class ScriptedEntropy(Entropy):
    """The given bytes, in order; LookupError when there are no more."""

    def __init__(self, script: bytes) -> None:
        self._script = np.frombuffer(script, np.uint8)
        self._position = 0

    def take(self, n: int, width: int) -> Bytes:
        part = self._script[self._position : self._position + n * width]
        if len(part) < n * width:
            raise LookupError(
                f"the script holds {len(self._script)} bytes, {self._position + n * width} were asked for"
            )
        self._position += n * width
        return part.reshape(n, width).copy()

    def partition(self, i: int, *, of: int) -> ScriptedEntropy:
        """Part i of the script, cut into `of` equal parts."""
        size = len(self._script) // of
        return ScriptedEntropy(self._script[i * size : (i + 1) * size].tobytes())


class ScriptedGuids:
    """The given GUIDs, in order; LookupError when there are no more."""

    def __init__(self, guids: Bytes) -> None:
        self._guids = guids
        self._position = 0

    def take(self, n: int) -> Bytes:
        """The next n GUIDs: fresh uint8 (n, 16) in RFC order."""
        part = self._guids[self._position : self._position + n]
        if len(part) < n:
            raise LookupError(f"the script holds {len(self._guids)} GUIDs, {self._position + n} were asked for")
        self._position += n
        return part.copy()
