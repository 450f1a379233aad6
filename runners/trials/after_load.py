"""After the load: whether the table holds exactly the acknowledged keys."""

from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray

from keybench.databases.contract.roles import Admin
from keybench.errors import VerificationError
from keybench.model.keys import Keys
from keybench.model.table import Table

Stored = NDArray[np.uint8] | NDArray[np.int64]
"""Keys as a column stores them: (n, width) bytes or (n,) integers."""


def check_keys(expected: Stored, stored: Iterable[Stored], times: int = 1) -> None:
    """Compares two multisets of stored keys exactly: each expected key must be there `times` times.

    `expected` is (n, width) bytes or (n,) integers as `Column.encode` gives them; `stored` are slices of the same form,
    in any order. Raises VerificationError with counts and the first difference.
    """
    slices = list(stored)
    in_table: Stored = np.concatenate(slices) if slices else expected[:0]  # type: ignore[assignment]
    want, have = np.repeat(_sorted(expected), times), _sorted(in_table)
    # in sorted order, a key that is there more than `times` times equals the key `times` places before
    repeated = int((have[times:] == have[:-times]).sum())
    if len(want) == len(have) and (want == have).all() and not repeated:
        return
    missing, extra = np.setdiff1d(want, have), np.setdiff1d(have, want)
    example = f" First missing key: {_text(missing[0])}." if len(missing) else ""
    raise VerificationError(
        f"the table holds {len(have)} rows where {len(want)} were acknowledged: {len(missing)} keys missing, "
        f"{len(extra)} never sent, {repeated} repeated.{example}"
    )


def check_table(admin: Admin, table: Table, keys: Keys) -> None:
    """VerificationError unless the table, and each one loaded with it, holds exactly `keys`, which are in any order."""
    for member in table.family:  # `children`: its rows for each key
        check_keys(member.column.encode(keys), admin.stored_keys(member), member.children)


def check_distinct(rows: int, stored: Iterable[Stored]) -> None:
    """VerificationError unless a table holds exactly `rows` keys, all different: for keys that the server made."""
    slices = list(stored)
    keys = np.concatenate(slices) if slices else np.empty(0, np.int64)
    different = len(np.unique(keys, axis=0))
    if (len(keys), different) != (rows, rows):
        raise VerificationError(
            f"the table holds {len(keys)} rows where {rows} were acknowledged, with {different} different keys."
        )


def _sorted(keys: Stored) -> NDArray[np.generic]:
    """The keys as one comparable value each, sorted: int64, or bytes of fixed length (which compare in full here)."""
    if keys.ndim == 1:
        return np.sort(keys)
    # numbers of 64 bits are sorted faster than bytes: fill each key with zeros to whole numbers
    words = np.zeros((len(keys), -(-keys.shape[1] // 8) * 8), np.uint8)  # -(-n // 8): rounded up
    words[:, : keys.shape[1]] = keys
    columns = words.view(">u8").astype(np.uint64)
    order = np.argsort(columns[:, 0], kind="stable")
    leading = columns[order, 0]
    if (leading[1:] == leading[:-1]).any():  # the first words alone do not decide the order
        order = np.lexsort(columns.T[::-1])  # lexsort takes the most significant column last
    return words[order].view(f"V{words.shape[1]}").ravel()


def _text(key: np.generic) -> str:
    return str(key) if isinstance(key, np.integer) else key.tobytes().hex()
