"""The split rules, on records as pg_waldump writes them, in chunks that end anywhere."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from keybench.databases.core.probes import UnreadableError
from keybench.databases.postgresql.log import Splits, count_splits


def record(kind: str, level: int, place: int, *, relation: str = "1663/5/9", right: bool, colon: bool) -> bytes:
    mark = ":" if colon else ""
    sibling = f", blkref #2: rel {relation} blk 7" if right else ""
    return (
        f"rmgr: Btree len (rec/tot): 70/ 70, tx: 7, lsn: 0/1, prev 0/0, desc: {kind} level{mark} {level}, "
        f"firstrightoff{mark} 146, newitemoff{mark} {place}, postingoff{mark} 0, blkref #0: rel {relation} blk 1, "
        f"blkref #1: rel {relation} blk 9{sibling}\n"
    ).encode()


records = st.builds(
    record,
    st.sampled_from(["SPLIT_L", "SPLIT_R"]),
    st.integers(0, 2),
    st.integers(1, 300),
    relation=st.sampled_from(["1663/5/9", "1663/5/91", "1663/15/9"]),
    right=st.booleans(),
    colon=st.booleans(),
)
other = st.just(b"rmgr: Btree len (rec/tot): 64/ 64, tx: 7, desc: INSERT_LEAF off: 3, blkref #0: rel 1663/5/9 blk 1\n")


@given(st.lists(records | other), st.integers(1, 400))
def test_chunks_may_end_anywhere(lines, size) -> None:
    text = b"".join(lines)
    chunks = [text[at : at + size] for at in range(0, len(text), size)]
    assert count_splits(chunks, "1663/5/9", 291) == count_splits([text], "1663/5/9", 291)


def test_records_are_counted_by_kind_of_split() -> None:
    lines = [
        record("SPLIT_R", 0, 292, right=False, colon=True),  # past the last of 291: append
        record("SPLIT_R", 0, 292, right=False, colon=False),
        record("SPLIT_R", 0, 291, right=False, colon=True),  # before the last: edge
        record("SPLIT_L", 0, 3, right=True, colon=True),  # not the rightmost: interior
        record("SPLIT_R", 0, 292, right=True, colon=True),
        record("SPLIT_L", 0, 3, right=True, colon=False),
        record("SPLIT_R", 1, 292, right=False, colon=True),  # a branch page
        record("SPLIT_R", 0, 292, relation="1663/5/91", right=False, colon=True),  # another index
    ]
    splits = count_splits(lines, "1663/5/9", 291)
    assert splits == Splits(appends=2, edge=1, interior=3, branch=1)
    assert splits.leaf == 6


def test_a_record_of_another_form_is_an_error() -> None:
    with pytest.raises(UnreadableError, match=r"^a split record of unknown form: SPLIT_R something new$"):
        count_splits([b"desc: SPLIT_R something new\n"], "1663/5/9", 291)
