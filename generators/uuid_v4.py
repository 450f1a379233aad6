"""UUIDs of RFC 9562 without a time: random ones (version 4), and those made of names (versions 3, 5, an example of 8).

Byte maps (V the variant bits 10 and six more bits):

uuid-v4                           r0 … r5 R   r6 4R   r7 R   r8 V   r9 … r15 R              (§5.4)
uuid-v3, uuid-v5, uuid-v8-name    the first 16 bytes of the digest of namespace and name, with version and variant:
                                  MD5 (§5.3), SHA-1 (§5.5), SHA-256 (§B.2)

The same name gives the same key, so keys are unique only if names are. A stream takes its planned row numbers
(`Process.row_numbers`) in decimal; they stand for natural keys that no two writers share. hashlib hashes one message a
call, so the keys are made one by one, in about a microsecond each.
"""

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final
from uuid import NAMESPACE_DNS, UUID

import numpy as np

from keybench.generators.core.bits import stamp_version
from keybench.generators.core.description import Description
from keybench.generators.core.stream import GuidLayout, Writer
from keybench.model.keys import Bytes

_DIGESTS: Final[Mapping[str, Any]] = {"MD5": hashlib.md5, "SHA-1": hashlib.sha1, "SHA-256": hashlib.sha256}


class Version4(GuidLayout):
    """Random UUIDs: they ascend in no order, and nothing can be read back."""

    reads_clock = "never"

    def fill(self, data: Bytes, writer: Writer) -> None:
        """Puts the next UUIDs into `data`; 16 bytes of entropy a key."""
        writer.entropy.fill(data)
        stamp_version(data, 4)


@dataclass(frozen=True, kw_only=True)
class NamedUuid(GuidLayout):
    """One version: the digest and the namespace of the names."""

    reads_clock = "never"

    version: int
    algorithm: str
    namespace: UUID = NAMESPACE_DNS

    def fill(self, data: Bytes, writer: Writer) -> None:
        """Puts the UUIDs of the writer's next row numbers, in decimal, into `data`."""
        data[:] = self.of_names([b"%d" % number for number in writer.row_numbers(len(data)).tolist()])

    def of_names(self, names: Sequence[bytes]) -> Bytes:
        """The UUID of each name: uint8 (n, 16)."""
        digest_of, prefix = _DIGESTS[self.algorithm], self.namespace.bytes
        digests = [digest_of(prefix + name, usedforsecurity=False).digest()[:16] for name in names]
        data = np.frombuffer(bytearray().join(digests), np.uint8).reshape(len(names), 16)  # bytearray: writable
        stamp_version(data, self.version)
        return data


def _named(name: str, version: int, algorithm: str, section: str) -> NamedUuid:
    """The layout of one version of named UUIDs; `section` is that of RFC 9562."""
    return NamedUuid(
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
            read_version=f"UUIDv{version}",
            caveats=(
                "the same name gives the same key: keys are unique only if names are",
                "random to every index, as version 4",
            ),
        ),
    )


LAYOUTS = (
    Version4(
        "uuid-v4",
        "122 random bits: no order at all",
        "RFC 9562 §5.4",
        order="none",
        aliases=("guid",),
        description=Description(
            "R48 V4:4 R12 X2:2 R62",
            caveats=("every key goes to a random place of the index, in every column of every database",),
        ),
    ),
    _named("uuid-v3", 3, "MD5", "§5.3"),
    _named("uuid-v5", 5, "SHA-1", "§5.5"),
    _named("uuid-v8-name", 8, "SHA-256", "§B.2"),
)
