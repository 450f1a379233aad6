"""TSID (github.com/f4b6a3/tsid-creator): a 64-bit integer of milliseconds, node and a counter that starts at random.

Bit map from the sign bit on: T42 ms since 2020-01-01, whose first bit is the sign and 0 until 2089-09-06; N10 node; C12
counter. tsid-text is the same number as 13 characters of Crockford's base 32, upper case.

The node is `Process.index`, below 1,024 (upstream draws a random one if none is configured). The first key of a
millisecond draws C: the low 12 bits of two bytes of entropy, big-endian. Each further key adds one, also when the clock
steps back, and an overflow moves the time one millisecond ahead (`TsidFactory.getTime`). Keys ascend strictly, whatever
the clock does. Upstream draws two more bytes when the factory is made, which appear in no key; here they are not drawn.

Readings from 2089-09-06 on are refused, because a signed column would sort their numbers below all others.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Final

import numpy as np

from keybench.generators.core.alphabets import CROCKFORD32, bits_of_text, text_of_bits, upper_case
from keybench.generators.core.clock import TICKS_PER_MS, UNIX_EPOCH
from keybench.generators.core.counters import NEVER, Starts, count_runs, require_room
from keybench.generators.core.description import Description, Timestamp
from keybench.generators.core.layout import Decoded, KeysRefused, require_form
from keybench.generators.core.process import worker_id
from keybench.generators.core.stream import ChunkStream, Writer, WriterLayout
from keybench.model.keys import Bytes, Ints, Keys

EPOCH: Final = UNIX_EPOCH + 1_577_836_800_000 * TICKS_PER_MS
_TIME_BITS: Final = 41
_LAST: Final = EPOCH + (TICKS_PER_MS << _TIME_BITS) - 1
_NODES: Final = 1 << 10
_COUNTER_BITS: Final = 12
_COUNTER: Final = (1 << _COUNTER_BITS) - 1
_CHARACTERS: Final = 13


class Tsids(ChunkStream["Tsid"]):
    """The keys of one node; the state is the last key's time and counter, as one number."""

    def __init__(self, layout: Tsid, writer: Writer) -> None:
        super().__init__(layout, writer)
        self._node = worker_id(layout.name, writer.process, _NODES)
        self._value = NEVER
        # Counter starts drawn for milliseconds that an overflow then reached: the next milliseconds use them.
        self._drawn = np.empty(0, np.int64)

    def chunk(self, n: int) -> Bytes | Ints:
        """The next n keys; UsageError before 2020 and from 2089-09-06 on."""
        milliseconds = (self.writer.readings(n) - EPOCH) // TICKS_PER_MS
        values, starts = count_runs(milliseconds, self._value, _COUNTER_BITS, self._seeds)
        self._drawn = self._drawn[len(starts) :]
        require_room(self.layout.name, values, (1 << _TIME_BITS + _COUNTER_BITS) - 1, _LAST)
        self._value = int(values[-1]) if n else self._value
        numbers = (values >> _COUNTER_BITS) << 22 | self._node << _COUNTER_BITS | values & _COUNTER
        if self.layout.kind == "int":
            return numbers
        return text_of_bits(np.zeros(n, np.uint64), numbers.view(np.uint64), 5, _CHARACTERS, CROCKFORD32)

    def _seeds(self, starts: Starts) -> Ints:
        missing = len(starts) - len(self._drawn)
        if missing > 0:
            drawn = self.writer.entropy.take(missing, 2).view(">u2")[:, 0].astype(np.int64) & _COUNTER
            self._drawn = np.concatenate([self._drawn, drawn])
        return self._drawn[: len(starts)]


class Tsid(WriterLayout):
    """TSIDs of one node, as integers or text."""

    streams = Tsids

    def decode(self, keys: Keys) -> Decoded:
        """The millisecond, the node and the counter; UsageError for keys that are not TSIDs."""
        require_form(self.name, keys, self.kind, _CHARACTERS)
        if self.kind == "text":
            high, low = bits_of_text(self.name, upper_case(keys), 5, CROCKFORD32)
            if (above := high > 0).any():
                text = keys.data[int(above.argmax())].tobytes().decode()
                raise KeysRefused(f"{text!r} is no {self.name} key: the greatest begins with F.", above)
            numbers = low.view(np.int64)
        else:
            numbers = np.asarray(keys.data, np.int64)
        milliseconds = numbers.view(np.uint64) >> np.uint64(22)
        return Decoded(
            milliseconds.view(np.int64) * TICKS_PER_MS + EPOCH,
            {"node": numbers >> _COUNTER_BITS & _NODES - 1, "counter": numbers & _COUNTER},
        )


_TIME: Final = Timestamp("milliseconds since 2020-01-01", EPOCH, _LAST, TICKS_PER_MS)


def _description(diagram: str, legend: dict[str, str], *caveats: str) -> Description:
    return Description(
        diagram,
        legend,
        within="always",
        across="by time",
        random="",
        uniqueness="worker id",
        worker_ids=_NODES,
        time=_TIME,
        caveats=(
            "with more than some 2,000 to 4,096 keys a millisecond on one node, the time runs ahead of the clock",
            *caveats,
        ),
    )


_SOURCE: Final = "github.com/f4b6a3/tsid-creator TsidFactory"

LAYOUTS = (
    Tsid(
        "tsid",
        "TSID, 64 bits: milliseconds since 2020, 10-bit node, 12-bit counter from a random start",
        _SOURCE,
        order="rfc",
        kind="int",
        description=_description(
            "Z1:0 T41 N10 C12",
            {
                "Z": "first bit of the time, the sign of a bigint",
                "T": "milliseconds since 2020-01-01",
                "N": "node (Process.index)",
                "C": "counter, random in each millisecond's first key",
            },
        ),
    ),
    Tsid(
        "tsid-text",
        "TSID as 13 characters of base 32",
        _SOURCE,
        order="rfc",
        kind="text",
        description=replace(
            _description("K13", {"K": "the 64 bits, 5 a character"}, "13 bytes a key instead of 8"),
            time=replace(_TIME, span=TICKS_PER_MS << 5 * _CHARACTERS - 22),
            alphabets={"K": CROCKFORD32.decode()},
            any_case=True,
        ),
    ),
)
