"""Sources of base GUIDs: random GUIDs, as .NET's `Guid.NewGuid` makes them, and given ones."""

from __future__ import annotations

from typing import Protocol

import numpy as np

from keybench.generators.core.bits import stamp_version
from keybench.generators.core.entropy import Entropy
from keybench.generators.core.layout import GuidProvider
from keybench.model.keys import Bytes


class Guids(Protocol):
    """Where streams get their base GUIDs."""

    def fill(self, out: Bytes) -> None:
        """Puts the next GUIDs into `out`: uint8 (n, 16), contiguous, in RFC order."""
        ...

    def draw(self, out: Bytes) -> int | None:
        """As `fill`, but may leave the version and variant to the caller: returns the version to set, or None.

        A caller that changes the GUIDs anyway, such as `bits.put_u48`, sets it in the same pass.
        """
        ...


class RandomGuids:
    """Version 4 GUIDs: 16 random bytes each, with version and variant set (RFC 9562 §5.4)."""

    def __init__(self, entropy: Entropy) -> None:
        self._entropy = entropy

    def take(self, n: int) -> Bytes:
        """The next n GUIDs: fresh uint8 (n, 16) in RFC order."""
        data = np.empty((n, 16), np.uint8)
        self.fill(data)
        return data

    def fill(self, out: Bytes) -> None:
        """The next GUIDs."""
        stamp_version(out, self.draw(out))

    def draw(self, out: Bytes) -> int:
        """Random bytes; the caller sets version 4."""
        self._entropy.fill(out)
        return 4


class ProvidedGuids:
    """The GUIDs of a given provider."""

    def __init__(self, provider: GuidProvider) -> None:
        self._provider = provider

    def fill(self, out: Bytes) -> None:
        """The provider's next GUIDs."""
        out[:] = self._provider.take(len(out))

    def draw(self, out: Bytes) -> None:
        """The provider's next GUIDs; they keep their version."""
        self.fill(out)
