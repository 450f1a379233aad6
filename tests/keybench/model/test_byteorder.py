"""Byte orders, compared with the golden lists and with Python's own comparison of bytes."""

from uuid import UUID

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from keybench.model.byteorder import PERMUTATIONS, accepts, accepts_all, rank, sort_words, stored
from keybench.model.keys import Keys
from tests.errors import raised

GUIDS = (
    st.integers(1, 40)
    .flatmap(lambda n: arrays(np.uint8, (n, 16), elements=st.integers(0, 255)))
    .map(lambda data: Keys(data, "uuid"))
)
SQL_GUID = (10, 11, 12, 13, 14, 15, 8, 9, 6, 7, 4, 5, 0, 1, 2, 3)
"""The order in which SqlGuid compares the bytes of `Guid.ToByteArray` (.NET's SQLGuid.cs)."""


def mariadb(guid: UUID) -> bytes:
    """What MariaDB's uuid type stores: node, clock sequence, then the time from high to low, if the value has these."""
    data = guid.bytes
    if 0x01 <= data[6] <= 0x5F and data[8] >= 0x80:
        return data[10:] + data[8:10] + data[6:8] + data[4:6] + data[:4]
    return data


REFERENCES = {
    "rfc": lambda guid: guid.bytes,
    "net": lambda guid: guid.bytes_le,
    "mssql": lambda guid: bytes(guid.bytes_le[place] for place in SQL_GUID),
    "mysql-swap": lambda guid: guid.bytes[6:8] + guid.bytes[4:6] + guid.bytes[0:4] + guid.bytes[8:],
    "mariadb": mariadb,
}
ORDERS = sorted(REFERENCES)


def uuids(keys: Keys) -> list[UUID]:
    return [UUID(bytes=row.tobytes()) for row in keys.data]


@pytest.mark.parametrize(
    ("order", "listed"),
    [("rfc", "sorted_by_guid_compareto"), ("rfc", "sorted_by_string_ordinal"), ("mssql", "sorted_by_sqlguid"),
     ("net", "sorted_by_net_bytes_memcmp")],
)  # fmt: skip
def test_golden_sort_orders(order, listed, vectors, guids_of, texts_of) -> None:
    (vector,) = vectors("sort_orders")
    keys = guids_of(vector["inputs"]["guids"])
    assert len(keys) == 92
    places = rank(keys, order)
    assert sorted(places) == list(range(92))
    assert texts_of(keys[np.argsort(places)]) == vector[listed]


def test_golden_mariadb_accepts_and_sorts(vectors, guids_of, texts_of) -> None:
    (vector,) = vectors("mariadb_sort_order")
    keys = guids_of(vector["inputs"]["guids"])
    taken = accepts(keys, "mariadb")
    assert texts_of(keys[~taken]) == vector["mariadb_uuid_rejected"]
    assert texts_of(keys[taken][np.argsort(rank(keys[taken], "mariadb"))]) == vector["sorted_by_mariadb_uuid_type"]


def test_golden_mariadb_records(vectors, guids_of) -> None:
    for vector in vectors("mariadb_uuid_record"):
        keys = guids_of([vector["inputs"]["uuid"]])
        assert accepts(keys, "mariadb").tolist() == [not vector["rejected"]]
        if not vector["rejected"]:
            assert stored(keys, "mariadb").tobytes().hex() == vector["record_hex"]


def test_mariadb_at_each_bound_of_both_bytes() -> None:
    data = np.full((9, 16), 0x77, np.uint8)
    data[:, 6], data[:, 8] = zip(
        *[(0x00, 0x80), (0x01, 0x7F), (0x01, 0x80), (0x5F, 0xFF), (0x60, 0x80),
          (0x7F, 0x80), (0x80, 0x00), (0x80, 0x01), (0xFF, 0x80)],
        strict=True,
    )  # fmt: skip
    keys = Keys(data, "uuid")
    swapped = (stored(keys, "mariadb") != data).any(axis=1)
    assert np.flatnonzero(swapped).tolist() == [2, 3]
    assert np.flatnonzero(~accepts(keys, "mariadb")).tolist() == [7, 8]
    data[8, 8] = 0x81
    assert accepts(keys, "mariadb").tolist()[8]


@given(keys=GUIDS)
def test_mariadb_stores_all_accepted_values_differently(keys) -> None:
    taken = keys[np.flatnonzero(accepts(keys, "mariadb"))]
    unique = len({row.tobytes() for row in taken.data})
    assert len({row.tobytes() for row in stored(taken, "mariadb")}) == unique


@pytest.mark.parametrize("order", sorted(PERMUTATIONS))
def test_all_other_orders_accept_all(order) -> None:
    data = np.random.default_rng(1).integers(0, 256, (500, 16)).astype(np.uint8)
    assert accepts(Keys(data, "uuid"), order).all()
    assert accepts(Keys(np.arange(3), "int"), "mariadb").tolist() == [True] * 3


@pytest.mark.parametrize("order", ORDERS)
@given(keys=GUIDS)
def test_stored_bytes_are_the_references(order, keys) -> None:
    assert [row.tobytes() for row in stored(keys, order)] == [REFERENCES[order](guid) for guid in uuids(keys)]


@pytest.mark.parametrize("order", ORDERS)
@given(keys=GUIDS)
def test_sort_words_and_ranks_agree_with_pythons_sort(order, keys) -> None:
    reference = [REFERENCES[order](guid) for guid in uuids(keys)]
    expected = sorted(range(len(keys)), key=reference.__getitem__)
    words = sort_words(keys, order)
    assert words.shape == (len(keys), 2)
    assert sorted(range(len(keys)), key=lambda row: tuple(words[row])) == expected
    places = rank(keys, order)
    assert np.argsort(places).tolist() == expected


@given(values=arrays(np.int64, st.integers(1, 40)))
@example(values=np.array([0, -1, 1, -(2**63), 2**63 - 1]))
def test_integers_sort_by_value(values) -> None:
    keys = Keys(values, "int")
    words = sort_words(keys, "rfc")
    assert words.shape == (len(values), 1)
    assert np.array_equal(np.argsort(words[:, 0], kind="stable"), np.argsort(values, kind="stable"))
    assert np.array_equal(stored(keys, "rfc"), values)


@given(
    data=st.integers(1, 20).flatmap(
        lambda width: arrays(np.uint8, st.tuples(st.integers(1, 30), st.just(width)), elements=st.integers(0, 3))
    )
)
def test_bytes_of_any_width_sort_as_bytes(data) -> None:
    places = rank(Keys(data, "bytes"), "rfc")
    expected = sorted(range(len(data)), key=lambda row: data[row].tobytes())
    assert np.argsort(places).tolist() == expected


def test_equal_keys_keep_their_sequence() -> None:
    keys = Keys(np.zeros((5, 16), np.uint8), "uuid")
    assert rank(keys, "mssql").tolist() == [0, 1, 2, 3, 4]


def test_no_column_stores_the_order_none() -> None:
    keys = Keys(np.zeros((1, 16), np.uint8), "uuid")
    said = raised(ValueError, stored, keys, "none")
    assert said.startswith("'none' is the order of layouts whose keys do not ascend; no column stores it")


@pytest.mark.parametrize(
    ("data", "kind", "message"),
    [
        (np.zeros((2, 16), np.int64), "uuid", "uuid keys need uint8 data in 2 dimensions"),
        (np.zeros(32, np.uint8), "bytes", "bytes keys need uint8 data in 2 dimensions"),
        (np.zeros((2, 15), np.uint8), "uuid", "uuid keys are 16 bytes wide, not 15"),
        (np.zeros(2, np.int32), "int", "int keys need int64 data in 1 dimensions"),
    ],
)
def test_keys_refuse_other_shapes(data, kind, message) -> None:
    with pytest.raises(ValueError, match=f"^{message}$"):
        Keys(data, kind)


def test_keys_are_sliced_and_joined() -> None:
    keys = Keys(np.arange(10), "int")
    joined = Keys.concat([keys[6:], keys[np.array([1, 0])]])
    assert joined.kind == "int"
    assert joined.data.tolist() == [6, 7, 8, 9, 1, 0]
    with pytest.raises(ValueError, match="too many values"):
        Keys.concat([keys, Keys(np.zeros((1, 3), np.uint8), "bytes")])


@given(
    mask=st.binary(min_size=16, max_size=16),
    value=st.binary(min_size=16, max_size=16),
    others=st.lists(st.binary(min_size=16, max_size=16), min_size=1, max_size=20),
)
def test_a_column_that_accepts_all_accepts_each(mask, value, others) -> None:
    fixed, bits = (np.unpackbits(np.frombuffer(part, np.uint8)) for part in (mask, value))
    each = np.array([np.where(fixed, bits, np.unpackbits(np.frombuffer(other, np.uint8))) for other in others])
    keys = Keys(np.packbits(each, axis=1), "uuid")
    for order in ("rfc", "net", "mssql", "mysql-swap"):
        assert accepts_all(fixed.astype(np.bool_), bits, order)
    if accepts_all(fixed.astype(np.bool_), bits, "mariadb"):
        assert accepts(keys, "mariadb").all()
    same = np.ones(128, np.bool_)
    assert [accepts_all(same, row, "mariadb") for row in each] == accepts(keys, "mariadb").tolist()
