"""Verification finds every single wrong key."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from keybench.errors import VerificationError
from keybench.runners.trials.after_load import check_distinct, check_keys
from tests.errors import raised


def binary(values: list[int], width: int = 16) -> np.ndarray:
    return np.frombuffer(b"".join(v.to_bytes(width, "big") for v in values), np.uint8).reshape(-1, width)


@given(st.lists(st.integers(0, 2**128 - 1), unique=True, min_size=1), st.randoms(use_true_random=False))
def test_the_same_keys_in_any_order_and_any_slices_pass(values: list[int], random: object) -> None:
    shuffled = values[:]
    random.shuffle(shuffled)  # type: ignore[attr-defined]
    middle = len(values) // 2
    check_keys(binary(values), [binary(shuffled[:middle]), binary(shuffled[middle:])])
    integers = np.array([v % 2**63 for v in values], np.int64)
    if len(set(integers.tolist())) == len(values):
        check_keys(integers, [np.sort(integers)])


@pytest.mark.parametrize("width", [16, 36])
def test_keys_that_share_their_first_bytes_are_told_apart(width: int) -> None:
    values = [(7 << 64) + i for i in range(1000)]
    check_keys(binary(values, width), [binary(values[::-1], width)])
    with pytest.raises(VerificationError, match="1 keys missing, 1 never sent, 0 repeated"):
        check_keys(binary(values, width), [binary([*values[1:], 5], width)])


@given(st.sets(st.integers(0, 2**128 - 1), min_size=3), st.data())
def test_a_missing_a_foreign_and_a_repeated_key_are_found(values: set[int], data: st.DataObject) -> None:
    keys = sorted(values)
    out = data.draw(st.sampled_from(keys))
    rest = [key for key in keys if key != out]
    assert raised(VerificationError, check_keys, binary(keys), [binary(rest)]) == (
        f"the table holds {len(rest)} rows where {len(keys)} were acknowledged: 1 keys missing, 0 never sent, "
        f"0 repeated. First missing key: {out:032x}."
    )
    with pytest.raises(VerificationError, match="0 keys missing, 1 never sent, 0 repeated"):
        check_keys(binary(rest), [binary(keys)])
    with pytest.raises(VerificationError, match="1 keys missing, 0 never sent, 1 repeated"):
        check_keys(binary(keys), [binary([*rest, rest[0]])])


def test_an_empty_table_holds_nothing() -> None:
    with pytest.raises(VerificationError, match=r"^the table holds 0 rows where 2 were acknowledged: 2 keys missing"):
        check_keys(np.array([1, 2], np.int64), [])


def test_keys_that_must_be_there_several_times() -> None:
    keys = binary([3, 1, 2])
    check_keys(keys, [binary([1, 1, 2, 3]), binary([2, 3])], times=2)
    with pytest.raises(VerificationError, match=r"^the table holds 5 rows where 6 were acknowledged: 0 keys missing"):
        check_keys(keys, [binary([1, 1, 2, 2, 3])], times=2)
    with pytest.raises(VerificationError, match="1 keys missing, 0 never sent, 2 repeated"):
        check_keys(keys, [binary([1, 1, 2, 2, 2, 2])], times=2)


def test_a_lost_or_repeated_key_of_the_server_is_found() -> None:
    check_distinct(4, [np.array([1, 2]), np.array([3, 4])])
    check_distinct(0, [])
    for found, said in (
        ([np.array([1, 2, 3])], "3 rows where 4 were acknowledged, with 3 different keys."),
        ([np.array([1, 2]), np.array([2, 3])], "4 rows where 4 were acknowledged, with 3 different keys."),
        ([np.zeros((5, 16), np.uint8)], "5 rows where 4 were acknowledged, with 1 different keys."),
    ):
        assert raised(VerificationError, check_distinct, 4, found) == f"the table holds {said}"
