"""MariaDB's redo log: synthetic logs byte by byte, and a live server's."""

import struct
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from keybench.databases.contract_suite.keys import increasing, random, taken_by
from keybench.databases.core.probes import UnreadableError
from keybench.databases.mariadb import ENGINE
from keybench.databases.mysql import redo_log
from keybench.databases.mysql.admin import MySqlAdmin
from keybench.databases.mysql.redo_log import entered_rows, inserted_keys, windows
from keybench.errors import ServerError
from keybench.model.keys import Keys
from keybench.model.table import Table
from tests.databases.loading import as_url, send
from tests.databases.mysql.conftest import ON_MARIADB
from tests.databases.mysql.test_order import version4
from tests.errors import raised

FIRST, CAPACITY = 44_000, 12_000
TABLE = 18


def number(value: int, *, offset: bool = True) -> bytes:
    """As mtr0log.h writes it: longer numbers begin where shorter ones end (in undo records, `offset` false, at 0)."""
    before = 0
    for length, prefix in ((1, 0), (2, 0x80), (3, 0xC0), (4, 0xE0), (5, 0xF0)):
        bits = 7 * length if length < 5 else 32
        if value - before < 1 << bits:
            data = bytearray((value - before).to_bytes(length, "big"))
            data[0] |= prefix
            return bytes(data)
        before += (1 << bits) if offset else 0
    raise ValueError(value)


def record(kind: int, body: bytes, page: tuple[int, int] | None) -> bytes:
    """One record; `page` (tablespace, number) of another than the one before."""
    inner = (number(page[0]) + number(page[1]) if page else b"") + body
    kind |= 0 if page else 0x80
    if len(inner) <= 15:
        return bytes([kind | len(inner)]) + inner
    length = next(n for n in range(1, 5) if len(number(len(inner) + n - 15)) == n)
    return bytes([kind]) + number(len(inner) + length - 15) + inner


def undo(key: bytes, table: int = TABLE, kind: int = 11, row: int = 0) -> bytes:
    parts = number(row, offset=False), number(table, offset=False), number(len(key), offset=False)
    return bytes([3, kind]) + b"".join(parts) + key


def number_of(row: int) -> bytes:
    """A row's number as InnoDB stores it."""
    return (row ^ 1 << 63).to_bytes(8, "big")


def entry(row: int) -> bytes:
    """An insertion into a leaf: only the bytes that differ from its predecessor, without the first ones of its key."""
    return bytes([6 + row % 4 // 2]) + b"..key" + number_of(row)


def transaction(*records: bytes) -> bytes:
    return b"".join(records) + b"\1" + b"crcs"


def written(folder: Path, before: bytes, content: bytes, *, form: bytes = b"Phys", encrypted: bytes = b"") -> Path:
    """A circular file with the log `before` and then `content`, up to its capacity."""
    log = np.zeros(CAPACITY, np.uint8)
    data = np.frombuffer(before + content, np.uint8)
    for i in range(max(0, len(data) - CAPACITY), len(data)):
        log[i % CAPACITY] = data[i]
    head = (form + bytes(4) + struct.pack(">Q", FIRST) + b"MariaDB".ljust(32, b"\0") + encrypted).ljust(0x3000, b"\0")
    path = folder / redo_log.PLACE
    path.write_bytes(head + log.tobytes())
    return path


def read(folder: Path, before: bytes, content: bytes, rows: int, *, width: int = 16) -> list[bytes]:
    begin = FIRST + len(before)
    found = windows(written(folder, before, content), begin, begin + len(content))
    return [bytes(key) for key in inserted_keys(found, TABLE, (width,), rows)]


OTHERS = [
    record(0x30, bytes(100), (5, 70)),
    record(0x20, undo(b"k" * 16, table=TABLE + 1), (0, 300)),
    record(0x20, undo(b"k" * 16, kind=12), (0, 300)),
    record(0x20, b"\6" + undo(b"k" * 16), (5, 70)),
    record(0x40, b"\0" * 5, (1 << 22, 1 << 29)),
    record(0x10, b"", (5, 9)),
]


@settings(deadline=None, max_examples=50)
@given(
    st.lists(
        st.tuples(
            st.binary(min_size=16, max_size=16),
            st.integers(0, 1 << 21),
            st.integers(0, 1 << 30),
            st.lists(st.sampled_from(OTHERS), max_size=2),
            st.booleans(),
        ),
        min_size=1,
        max_size=12,
    ),
    st.integers(0, 2 * CAPACITY),
)
def test_insertions_are_found_among_other_records(tmp_path_factory, rows, before) -> None:
    content = b""
    for key, row, page, others, same in rows:
        there = (0, page)
        own = [record(0x30, b"\0\1", there), record(0x20, undo(key, row=row), None)] if same else []
        content += transaction(*others, *(own or [record(0x20, undo(key, row=row), there)]), *others)
    keys = [key for key, *_ in rows]
    if len(content) <= CAPACITY:
        assert read(tmp_path_factory.mktemp("log"), bytes(before), content, len(keys)) == keys


@settings(deadline=None, max_examples=50)
@given(st.permutations(range(40)), st.integers(0, 2 * CAPACITY), st.data())
def test_entries_of_an_index_are_told_from_copies_and_node_pointers(tmp_path_factory, rows, before, data) -> None:
    """Row numbers are even; where a page splits, earlier entries are inserted again."""
    content = b""
    for i, row in enumerate(rows):
        copies = data.draw(st.lists(st.sampled_from(rows[:i]), max_size=3)) if i else []
        moved = [record(0x20, entry(2 * copy), (7, 5)) for copy in copies]
        pointer = record(0x20, b"\6" + b"k" * 16 + number_of(2 * row)[4:] + (5).to_bytes(4, "big"), (7, 4))
        other = [
            record(0x20, entry(2 * other), (space, page)) for other in rows[i:][:1] for space, page in ((7, 6), (8, 5))
        ]
        content += transaction(*other, *moved, record(0x20, entry(2 * row), None if copies else (7, 5)), pointer)
        if data.draw(st.booleans()):
            content += transaction(record(0x20, undo(b"k" * 16), (0, 5)))
    path = written(tmp_path_factory.mktemp("log"), bytes(before), content)
    begin = FIRST + before
    rows_read = entered_rows(windows(path, begin, begin + len(content)), (7, np.array([4, 5])), 78, len(rows))
    assert rows_read.tolist() == [2 * row for row in rows]


def test_a_record_about_a_file_does_not_belong_to_the_page_before(tmp_path) -> None:
    renamed = record(0xA0, undo(b"x" * 16), None)
    assert renamed[0] & 0x80
    content = transaction(renamed) + transaction(record(0x20, undo(b"y" * 16), (0, 300)))
    assert read(tmp_path, b"", content, 1) == [b"y" * 16]


def test_windows_end_between_mini_transactions(tmp_path, monkeypatch) -> None:
    monkeypatch.setattr(redo_log, "_WINDOW", 500)
    monkeypatch.setattr(redo_log, "_LARGEST", 100)
    keys = [bytes([i]) * 16 for i in range(60)]
    content = b"".join(transaction(record(0x20, undo(key), (0, 300))) for key in keys)
    assert read(tmp_path, bytes(10_700), content, 60) == keys


@pytest.mark.parametrize(
    ("change", "end", "message"),
    [
        ({"form": b"\0\0\0\1"}, 100, "it is not in the format of MariaDB 10.8 and later."),
        ({"encrypted": b"\1"}, 100, "it is encrypted."),
        ({}, 12_001, "of 12,001 bytes it keeps 12,000: take fewer rows or a larger innodb_log_file_size."),
        ({}, 61, "keybench does not know its records."),
        ({}, 62, "it shows 2 insertions of 3 rows."),
    ],
)
def test_a_log_that_cannot_be_used_is_refused(tmp_path, change, end, message) -> None:
    content = transaction(record(0x20, undo(b"k" * 16), (0, 300))) * 2
    assert len(content) == 62
    path = written(tmp_path, b"", content, **change)
    assert raised(UnreadableError, inserted_keys, windows(path, FIRST, FIRST + end), TABLE, (16,), 3) == message


@settings(deadline=None, max_examples=50)
@given(st.binary(min_size=1, max_size=CAPACITY))
def test_damage_is_noticed_or_harmless(tmp_path_factory, content) -> None:
    path = written(tmp_path_factory.mktemp("log"), b"", content)
    with pytest.raises(UnreadableError):
        inserted_keys(windows(path, FIRST, FIRST + len(content)), TABLE, (16,), 1 << 10)


@pytest.mark.parametrize(
    ("column", "role"),
    [("binary16-net", "clustered"), ("bigint", "clustered"), ("char36-default", "clustered"), ("uuid", "clustered"),
     ("char36", "nonclustered")],
)  # fmt: skip
@ON_MARIADB
def test_one_writers_order_is_that_of_its_rows(admin, column: str, role: str) -> None:
    sized, keys = taken_by(ENGINE.column(column), version4(random(700)))
    on = Table("trial", sized, 20, role)  # type: ignore[arg-type]
    admin.create(on)
    recorder = admin.arrival_recorder()
    recorder.before(on)
    send(admin.address, on, keys, rows_per_tx=100)
    arrivals = recorder.after(on)
    transaction = dict(zip((key.tobytes() for key in arrivals.keys), arrivals.transactions.tolist(), strict=True))
    assert arrivals.sequence.tolist() == [transaction[key.tobytes()] for key in sized.encode(keys)]
    assert arrivals.near == ""


@ON_MARIADB
def test_without_the_log_transactions_remain(admin, monkeypatch) -> None:
    on = Table("trial", ENGINE.column("bigint"), 0)
    admin.create(on)
    recorder = admin.arrival_recorder()
    recorder.before(on)
    send(admin.address, on, Keys(np.arange(300), "int"), rows_per_tx=100)
    monkeypatch.setattr("keybench.databases.mysql.arrival_order.log_positions", lambda _: (1 << 62, 0))
    monkeypatch.setattr("keybench.databases.mysql.arrival_order._FLUSH_SECONDS", 0.0)
    arrivals = recorder.after(on)
    assert arrivals.near == (
        "By the order of transactions, which is near that of their rows: the log cannot be used, because the server "
        "does not write it to its file."
    )
    assert arrivals.sequence.tolist() == sorted(arrivals.transactions.tolist())


@ON_MARIADB
def test_a_users_own_server_gives_no_order(address) -> None:
    outside = MySqlAdmin(as_url(address))
    try:
        on = Table("trial", ENGINE.column("binary16"), 0)
        outside.create(on)
        recorder = outside.arrival_recorder()
        recorder.before(on)
        send(outside.address, on, increasing(10))
        with pytest.raises(ServerError, match=r"^the order of arrival is in files that keybench reads on its own"):
            recorder.after(on)
    finally:
        outside.close()
