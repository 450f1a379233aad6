"""UUIDs of RFC 9562 made of names: versions 3 and 5, and the RFC's example of version 8.

Byte map: r0 … r15 are the first 16 bytes of the digest of namespace and name; the version overwrites the high half of
r6, and the variant 10 the top two bits of r8:

uuid-v3        MD5       (§5.3)
uuid-v5        SHA-1     (§5.5)
uuid-v8-name   SHA-256   (§B.2)

The same name gives the same key, so keys are unique only if names are. Names come from the stream's name provider.
Without one, a stream takes its planned row numbers (`Process.row_numbers`) in decimal; they stand for natural keys that
no two writers share. Neither clock nor entropy is used. hashlib hashes one message a call, so the keys are made one by
one, in about a microsecond each.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from typing import Any, Final, Literal
from uuid import NAMESPACE_DNS, UUID

import numpy as np

from keybench.generators.core.bits import stamp_version
from keybench.generators.core.description import Description
from keybench.generators.core.layout import Decoded
from keybench.generators.core.stream import GuidLayout, Writer
from keybench.generators.core.uuids import require_version
from keybench.model.keys import Bytes, Keys


@dataclass(frozen=True, kw_only=True)
class NamedUuid(GuidLayout):
    """One version: the digest and the namespace of the names."""

    reads_clock = "never"

    version: int
    algorithm: Literal["md5", "sha1", "sha256"]
    namespace: UUID = NAMESPACE_DNS

    def fill(self, data: Bytes, writer: Writer) -> None:
        """The UUIDs of the next n names."""
        n = len(data)
        names = writer.names.take(n) if writer.names else [b"%d" % number for number in writer.row_numbers(n).tolist()]
        digest_of: Any = {"md5": hashlib.md5, "sha1": hashlib.sha1, "sha256": hashlib.sha256}[self.algorithm]
        prefix = self.namespace.bytes
        digests = [digest_of(prefix + name, usedforsecurity=False).digest()[:16] for name in names]
        data[:] = np.frombuffer(b"".join(digests), np.uint8).reshape(n, 16)
        stamp_version(data, self.version)

    def decode(self, keys: Keys) -> Decoded:
        """Always an error: a digest cannot be read back. UsageError for a key of another version."""
        require_version(self.name, keys, self.version)
        return super().decode(keys)


def _description(version: int) -> Description:
    return Description(
        f"D48 V4:{version} E12 X2:2 F62",
        {
            "D": "digest of namespace and name, bits 0 to 47",
            "E": "digest, bits 52 to 63",
            "F": "digest, bits 66 to 127",
        },
        random="",
        uniqueness="plan",
        caveats=(
            "the same name gives the same key: keys are unique only if names are",
            "random to every index, as version 4",
        ),
    )


_SUMMARY: Final = "The {} of namespace and name: no order, and nothing can be read back"

LAYOUTS = (
    NamedUuid(
        "uuid-v3",
        _SUMMARY.format("MD5"),
        "RFC 9562 §5.3",
        order="none",
        version=3,
        algorithm="md5",
        description=_description(3),
    ),
    NamedUuid(
        "uuid-v5",
        _SUMMARY.format("SHA-1"),
        "RFC 9562 §5.5",
        order="none",
        version=5,
        algorithm="sha1",
        description=_description(5),
    ),
    NamedUuid(
        "uuid-v8-name",
        _SUMMARY.format("SHA-256"),
        "RFC 9562 §B.2",
        order="none",
        version=8,
        algorithm="sha256",
        description=_description(8),
    ),
)
