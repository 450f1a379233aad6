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
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final
from uuid import NAMESPACE_DNS, UUID

import numpy as np

from keybench.generators.core.bits import stamp_version
from keybench.generators.core.description import Description
from keybench.generators.core.layout import Decoded
from keybench.generators.core.stream import GuidLayout, Writer
from keybench.generators.core.uuids import require_version
from keybench.model.keys import Bytes, Keys

_DIGESTS: Final[Mapping[str, Any]] = {"MD5": hashlib.md5, "SHA-1": hashlib.sha1, "SHA-256": hashlib.sha256}


@dataclass(frozen=True, kw_only=True)
class NamedUuid(GuidLayout):
    """One version: the digest and the namespace of the names."""

    reads_clock = "never"

    version: int
    algorithm: str
    namespace: UUID = NAMESPACE_DNS

    def fill(self, data: Bytes, writer: Writer) -> None:
        """The UUIDs of the next n names."""
        n = len(data)
        names = writer.names.take(n) if writer.names else [b"%d" % number for number in writer.row_numbers(n).tolist()]
        digest_of, prefix = _DIGESTS[self.algorithm], self.namespace.bytes
        digests = [digest_of(prefix + name, usedforsecurity=False).digest()[:16] for name in names]
        data[:] = np.frombuffer(b"".join(digests), np.uint8).reshape(n, 16)
        stamp_version(data, self.version)

    def decode(self, keys: Keys) -> Decoded:
        """Always an error: a digest cannot be read back. UsageError for a key of another version."""
        require_version(self.name, keys, self.version)
        return super().decode(keys)


LAYOUTS = tuple(
    NamedUuid(
        name,
        f"The {algorithm} of namespace and name: no order, and nothing can be read back",
        f"RFC 9562 {section}",
        order="none",
        version=version,
        algorithm=algorithm,
        description=Description(
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
        ),
    )
    for name, version, algorithm, section in (
        ("uuid-v3", 3, "MD5", "§5.3"),
        ("uuid-v5", 5, "SHA-1", "§5.5"),
        ("uuid-v8-name", 8, "SHA-256", "§B.2"),
    )
)
