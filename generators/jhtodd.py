"""jhtodd's SequentialGuid, also published as Zaabee.SequentialGuid: six bytes of time and ten random bytes.

ABP's SequentialGuidGenerator is the same code. Its default is `SequentialAtEnd`; its MySQL and PostgreSQL modules set
`SequentialAsString`, its Oracle modules `SequentialAsBinary`.

Byte maps (n0 … n15 are the bytes in .NET order; T the low 48 bits of the milliseconds since 0001-01-01, most
significant byte first; R0 … R9 the ten random bytes of a key):

jhtodd-string   r0 … r5 T        n6 … n15 R0 … R9       for text and PostgreSQL's uuid
jhtodd-binary   n0 … n5 T        n6 … n15 R0 … R9       for bytes as .NET binds them (Oracle RAW)
jhtodd-end      n0 … n9 R0 … R9  n10 … n15 T            for SQL Server

The article says that version and variant could easily be added back: jhtodd-string-v4, jhtodd-binary-v4 and
jhtodd-end-v4 are the three forms with version 4 and variant of RFC 9562 over six of the random bits (the first four of
r6, the first two of r8; in no form is this a part of the time). Nobody has published them.

Quirks, kept: no version and no variant, so a quarter of the keys is no valid UUID of any version. The string form
reverses only Data1 and Data2, so R1 is before R0 in its text. The time wraps at 8920-08-03T05:31:50.656Z. Keys of one
millisecond come in no order. Nothing upstream reads the time; `decode` reads the byte map.
"""

from dataclasses import dataclass
from typing import Final

from keybench.generators.core.bits import draw_bytes, put_u48, put_u48_net, stamp_version, swap_net, swap_third_field
from keybench.generators.core.clock import TICKS_PER_MS, milliseconds
from keybench.generators.core.description import Timestamp, timed
from keybench.generators.core.stream import GuidLayout, Writer
from keybench.model.keys import Bytes, Order

_RANDOM_BYTES: Final = 10  # random bytes of a key


@dataclass(frozen=True, kw_only=True)
class Sequential(GuidLayout):
    """One of the three forms, named by its order; `versioned` ones have the version and variant that others lack."""

    versioned: bool = False

    def fill(self, data: Bytes, writer: Writer) -> None:
        """Puts the next GUIDs into `data`; ten bytes of entropy a key."""
        draw_bytes(data, 0 if self.order == "mssql" else 6, writer.entropy, _RANDOM_BYTES)  # the whole row changes
        time = milliseconds(writer.readings(len(data)))
        if self.order == "mssql":
            swap_net(data)  # R0 … R7 are n0 … n7
            put_u48(data, 10, time)
        else:
            # The time overwrites Data1 and Data2, so only Data3 has to be swapped.
            swap_third_field(data)
            if self.order == "net":
                put_u48_net(data, time)
            else:
                put_u48(data, 0, time)
        if self.versioned:
            stamp_version(data, 4)


_WRAP: Final = TICKS_PER_MS << 48  # the tick at which the 48 bits of milliseconds start again
_NET_TIME: Final = "d8 c8 b8 a8 f8 e8"
"""The time's bytes a … f, the most significant first, as .NET's order has them in the text."""


def _forms(
    form: str, summary: str, diagrams: tuple[str, str], time: str, order: Order, *aliases: str
) -> tuple[Sequential, Sequential]:
    """(a form as published, the same with version and variant); `diagrams` has the bits of each, in this order."""

    def layout(versioned: bool) -> Sequential:
        """The form as published, or with version and variant."""
        without = "no version and no variant: MariaDB's uuid refuses a quarter of the keys"
        with_version = "MariaDB's uuid sorts version 4 by its end" + ("" if form == "end" else ", which is random here")
        return Sequential(
            f"jhtodd-{form}" + ("-v4" if versioned else ""),
            summary + (", with version and variant" if versioned else ""),
            _SOURCE,
            order=order,
            aliases=() if versioned else aliases,
            versioned=versioned,
            description=timed(
                diagrams[versioned],
                {"T": time},
                Timestamp("milliseconds since 0001-01-01, low 48 bits", 0, _WRAP - 1, TICKS_PER_MS, "another instant"),
                "keys of one millisecond come in no order",
                with_version if versioned else without,
                reads={"time": "abcdef" if order == "net" else "T"},
                read_diagram=diagrams[versioned].replace("T48", _NET_TIME) if order == "net" else "",
                read_version="UUIDv4" if versioned else "",
            ),
        )

    return layout(versioned=False), layout(versioned=True)


_SOURCE: Final = "github.com/jhtodd/SequentialGuid; Zaabee.SequentialGuid; ABP SequentialGuidGenerator"

LAYOUTS = (
    *_forms(
        "string",
        "SequentialAsString: milliseconds since year 1 first in the text, then random bits",
        ("T48 R80", "T48 V4:4 R12 X2:2 R62"),
        "milliseconds since year 1",
        "rfc",
        "zaabee-string",
        "abp-string",
    ),
    *_forms(
        "binary",
        "SequentialAsBinary: milliseconds since year 1 first in .NET's bytes, then random",
        ("T48 R80", "T48 V4:4 R12 X2:2 R62"),
        "milliseconds since year 1, first in .NET's bytes, so shuffled in the text",
        "net",
        "zaabee-binary",
        "abp-binary",
    ),
    *_forms(
        "end",
        "SequentialAtEnd: random, then ms since year 1 where SQL Server compares first",
        ("R80 T48", "R48 V4:4 R12 X2:2 R14 T48"),
        "milliseconds since year 1",
        "mssql",
        "zaabee-end",
        "abp-end",
        "abp",
    ),
)
