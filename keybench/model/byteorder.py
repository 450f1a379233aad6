"""The byte orders of keys: how columns store keys and sort them.

`Keys` hold GUIDs in RFC order, the order of the hexadecimal text (r0 … r15). The other orders permute these bytes:

net         .NET `ToByteArray()`, Oracle RAW and SQLite BLOB as .NET binds them: r3 r2 r1 r0 r5 r4 r7 r6 r8 … r15
mssql       SQL Server's comparison of uniqueidentifier (SqlGuid): r10 … r15, r8, r9, r7, r6, r5, r4, r3, r2, r1, r0
mysql-swap  MySQL `UUID_TO_BIN(u, 1)`: r6 r7 r4 r5 r0 … r3 r8 … r15
mariadb     MariaDB's `uuid` (10.10.6, 10.11.5 and later; plugin/type_uuid/sql_type_uuid.h). It depends on the value:
            r10 … r15, r8, r9, r6, r7, r4, r5, r0 … r3 where 0x01 ≤ r6 ≤ 0x5f and r8 ≥ 0x80, as in versions 1 to 5;
            other values in RFC order. It refuses some values: `accepts`

Which columns sort by each order, given the bytes that clients send:

rfc         PostgreSQL uuid; .NET's Guid.CompareTo; BINARY(16), RAW(16) and BLOB with the bytes of the text; CHAR(36)
            in one letter case with a binary collation
net         Oracle RAW(16), MySQL BINARY(16) with LittleEndianBinary16, SQLite BLOB with BinaryGUID, bound from .NET
mssql       SQL Server uniqueidentifier; binary(16) columns that keybench fills in this order on other servers
mysql-swap  MySQL BINARY(16) filled by UUID_TO_BIN(u, 1)
mariadb     MariaDB uuid
"""

from typing import Final

import numpy as np
from numpy.typing import NDArray

from keybench.model.keys import Bytes, Ints, Keys, Order

PERMUTATIONS: Final[dict[Order, tuple[int, ...]]] = {
    "rfc": tuple(range(16)),
    "net": (3, 2, 1, 0, 5, 4, 7, 6, *range(8, 16)),
    "mssql": (*range(10, 16), 8, 9, 7, 6, 5, 4, 3, 2, 1, 0),
    "mysql-swap": (6, 7, 4, 5, 0, 1, 2, 3, *range(8, 16)),
}
"""The orders whose permutation is the same for all values."""

_MARIADB_SWAPPED: Final = (*range(10, 16), 8, 9, 6, 7, 4, 5, 0, 1, 2, 3)

FixedBits = tuple[NDArray[np.bool_], NDArray[np.uint8]]
"""(which bits are the same in all keys of a layout, all bits of one of its keys): (128,) for GUIDs, (64,) for integers,
first bit first."""

_CHUNK: Final = 16_384

_HEX = np.frombuffer(b"0123456789abcdef", np.uint8)
_PAIRS = np.stack([_HEX[np.arange(256) >> 4], _HEX[np.arange(256) & 15]], axis=1)
_BYTES = np.arange(1 << 16, dtype=np.uint16).view(np.uint8).reshape(-1, 2)
_DIGITS: Final = np.ascontiguousarray(_PAIRS[_BYTES].reshape(-1, 4)).view(np.uint32)[:, 0]
"""The four hexadecimal digits of each pair of bytes. Digits and bytes are in the order in which they lie in memory."""

_GROUPS: Final = (8, 4, 4, 4, 12)


def _groups(gap: int) -> np.dtype[np.void]:
    """A type whose fields are the five groups of a GUID's digits, with `gap` characters between them."""
    starts = [sum(_GROUPS[:group]) + gap * group for group in range(5)]
    return np.dtype({
        "names": [str(group) for group in range(5)],
        "formats": [f"V{width}" for width in _GROUPS],
        "offsets": starts,
        "itemsize": 32 + 4 * gap,  # 32 digits, four gaps
    })  # fmt: skip


_HYPHENATED: Final = _groups(1)
_PLAIN: Final = _groups(0)


def _permute(data: Bytes, order: Order) -> Bytes:
    """GUIDs in RFC order, (n, 16), with the bytes of each in another order. ValueError for `none`."""
    if order == "none":
        raise ValueError("'none' is the order of layouts whose keys do not ascend; no column stores it")
    if order == "mariadb":
        swapped = (data[:, 6] >= 0x01) & (data[:, 6] <= 0x5F) & (data[:, 8] >= 0x80)
        return np.where(swapped[:, None], np.take(data, _MARIADB_SWAPPED, axis=1), data)
    return data if order == "rfc" else np.take(data, PERMUTATIONS[order], axis=1)


def accepts(keys: Keys, order: Order) -> NDArray[np.bool_]:
    """Which keys a column of that order accepts: bool (n,). Only MariaDB's `uuid` refuses any.

    It raises "Incorrect uuid value" if r6 ≥ 0x80 and 0x01 ≤ r8 ≤ 0x80, because the stored form of such a value would
    look like a swapped one. For such a value `stored` returns bytes that no server holds.
    """
    if keys.kind != "uuid" or order != "mariadb":
        return np.full(len(keys), True)
    data: Bytes = keys.data  # type: ignore[assignment]
    refused: NDArray[np.bool_] = (data[:, 6] >= 0x80) & (data[:, 8] >= 0x01) & (data[:, 8] <= 0x80)
    return ~refused


REFUSALS: Final[dict[Order, str]] = {
    "mariadb": "MariaDB's uuid takes no GUID whose seventh byte is 0x80 or more and whose ninth is 0x01 to 0x80"
}
"""A message for each order whose columns refuse some GUIDs. It says which GUIDs they refuse; see `accepts`."""


def accepts_all(fixed: NDArray[np.bool_], bits: Bytes, order: Order) -> bool:
    """Whether a column of that order accepts every GUID with `bits` where `fixed` is set: (128,), first bit first."""
    if order != "mariadb":
        return True
    if fixed[48] and not bits[48]:  # the first bit of r6 is 0: it is below 0x80
        return True
    return not _possible(fixed, bits, 8)[0x01:0x81].any()  # r8, as in `accepts`


def _possible(fixed: NDArray[np.bool_], bits: Bytes, byte: int) -> NDArray[np.bool_]:
    """Which values byte number `byte`, from 0, can have in GUIDs with `bits` where `fixed` is set: bool (256,)."""
    values = np.unpackbits(np.arange(256, dtype=np.uint8)[:, None], axis=1)
    part = slice(8 * byte, 8 * byte + 8)
    possible: NDArray[np.bool_] = ((values == bits[part]) | ~fixed[part]).all(axis=1)
    return possible


def _sequence(order: Order, bits: FixedBits) -> tuple[int, ...]:
    """The sequence in which a column of that order compares bytes; empty unless all GUIDs with these bits share it."""
    if order != "mariadb":
        return PERMUTATIONS.get(order, ())  # (): `none`
    r6, r8 = _possible(*bits, 6), _possible(*bits, 8)  # which of 256 values each can have
    some_swapped = r6[0x01:0x60].any() and r8[0x80:].any()
    some_plain = r6[0] or r6[0x60:].any() or r8[:0x80].any()
    if some_swapped and some_plain:
        return ()
    return _MARIADB_SWAPPED if some_swapped else PERMUTATIONS["rfc"]


def ascend_alike(
    order: Order, other: Order, bits: FixedBits, random: NDArray[np.bool_], steady: NDArray[np.bool_]
) -> bool:
    """Whether GUIDs that ascend in `order` ascend in `other` too, because both compare the same bytes first.

    Only bytes that decide the order count: those before the first one with a random bit, without those that are the
    same in all GUIDs. `random` says which bits are drawn for each GUID, `steady` which are the same in all of them
    besides the fixed ones: bool (128,). False for `none`, and if the fixed bits do not decide the sequence in which
    bytes are compared.
    """
    if order == other:
        return order != "none"
    same: NDArray[np.bool_] = np.all((bits[0] | steady).reshape(16, 8), axis=1)  # bits[0]: which are fixed
    has_random: NDArray[np.bool_] = np.any(random.reshape(16, 8), axis=1)
    ours, others = ([byte for byte in _sequence(each, bits) if not same[byte]] for each in (order, other))
    deciding = next((place for place, byte in enumerate(ours) if has_random[byte]), len(ours))  # how many bytes decide
    return deciding > 0 and ours[:deciding] == others[:deciding]


def stored(keys: Keys, order: Order) -> Bytes | Ints:
    """The bytes that a column of that order stores: sorted as bytes, they are in that order. Only GUIDs are changed."""
    return _permute(keys.data, order) if keys.kind == "uuid" else keys.data  # type: ignore[arg-type]


def unstored(data: Bytes, order: Order) -> Bytes:
    """GUIDs in RFC order, (n, 16), from the bytes that a column stores in one of the orders of `PERMUTATIONS`."""
    rfc = np.empty_like(data)
    rfc[:, list(PERMUTATIONS[order])] = data  # stored byte i is RFC byte PERMUTATIONS[order][i]
    return rfc


def hexadecimal(data: Bytes) -> Bytes:
    """Each byte as two lower-case hexadecimal digits, in ASCII: uint8 (n, 2 × width)."""
    return _PAIRS[data].reshape(len(data), 2 * data.shape[1])


def text36(keys: Keys) -> Bytes:
    """GUIDs as 36 characters of lower-case ASCII: uint8 (n, 36)."""
    text = np.full((len(keys), 36), ord("-"), np.uint8)
    pairs = np.ascontiguousarray(keys.data).view(np.uint16).reshape(-1, 8)
    digits = np.empty((min(len(keys), _CHUNK), 8), np.uint32)  # four in each number
    for start in range(0, len(keys), _CHUNK):
        part = pairs[start : start + _CHUNK]
        # No index is outside of _DIGITS, so `mode` changes nothing; but with it numpy writes to `out` without a copy.
        plain = np.take(_DIGITS, part, out=digits[: len(part)], mode="wrap").view(_PLAIN)[:, 0]
        hyphenated = text[start : start + _CHUNK].view(_HYPHENATED)[:, 0]
        for group in _PLAIN.names or ():
            hyphenated[group] = plain[group]
    return text


def sort_words(keys: Keys, order: Order) -> NDArray[np.uint64]:
    """The words by which a column of that order sorts: uint64 (n, ceil(width/8)), compared one by one, unsigned.
    Integers give one word whose unsigned order is their signed order."""
    if keys.kind == "int":
        return (keys.data.astype(np.uint64) ^ np.uint64(1 << 63))[:, None]
    width = keys.data.shape[1]
    words = np.empty((len(keys), -(-width // 8)), np.uint64)
    for start in range(0, len(keys), _CHUNK):  # a chunk fits into a cache near the core
        part = np.ascontiguousarray(stored(keys[start : start + _CHUNK], order))
        whole = np.pad(part, ((0, 0), (0, -width % 8))) if width % 8 else part  # zeros up to the next eight bytes
        words[start : start + _CHUNK] = whole.view(">u8")
    return words


def ascends(words: NDArray[np.uint64]) -> NDArray[np.bool_]:
    """(n − 1,): whether each key is above the one before it, by the sort words of n keys, (n, w); (0,) for none."""
    above = np.zeros(len(words[1:]), np.bool_)
    for before, after in zip(words[:-1].T[::-1], words[1:].T[::-1], strict=True):  # the first word that differs decides
        above = np.where(before == after, above, before < after)
    return above


def rank(keys: Keys, order: Order) -> NDArray[np.int64]:
    """Each key's position, from 0, among all of `keys` in that order: int64 (n,). Equal keys stay in sequence."""
    words = sort_words(keys, order)
    places = np.empty(len(keys), np.int64)
    places[np.lexsort(words.T[::-1])] = np.arange(len(keys))  # lexsort takes the most significant word last
    return places
