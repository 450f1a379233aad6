"""MySQL's redo log: synthetic logs byte by byte, and a live server's."""

import re
import struct
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from keybench.databases.contract.engine import Engine
from keybench.databases.contract.roles import Address
from keybench.databases.contract_suite.keys import random, taken_by
from keybench.databases.contract_suite.servers import Servers
from keybench.databases.core.probes import UnreadableError
from keybench.databases.mariadb import ENGINE as MARIADB
from keybench.databases.mysql import ENGINE, mysql_log
from keybench.databases.mysql.admin import MySqlAdmin
from keybench.databases.mysql.arrival_order import BY_DATE, flushed_log
from keybench.databases.mysql.ibd_file import space
from keybench.databases.mysql.mysql_log import windows
from keybench.databases.mysql.probes import flushed, log_positions, read_index, table_id
from keybench.databases.mysql.redo_log import entered_rows, inserted_keys
from keybench.databases.mysql.session import MySqlSession
from keybench.model.byteorder import rank
from keybench.model.keys import Keys
from keybench.model.payload import Payload
from keybench.model.table import Table
from tests.databases.loading import send
from tests.errors import raised

TABLE = 1064
FILE_BLOCKS = 3
FIRST_BLOCK = (1 << 30) - 5
"""The log begins a little before a new epoch."""
FIRST = f"its record at {FIRST_BLOCK * 512 + 12:,}"

ALONE = 0x80
INDEX = b"\1\1" + struct.pack(">HHHH", 2, 1, 0x8010, 0x8008)


def number(value: int) -> bytes:
    """As mach_write_compressed writes it."""
    for length, prefix in ((1, 0), (2, 0x80), (3, 0xC0), (4, 0xE0)):
        if value < 1 << 7 * length:
            return (value | prefix << 8 * (length - 1)).to_bytes(length, "big")
    for length, prefix, stored in ((2, 0xF8, 10), (3, 0xFC, 17), (4, 0xFE, 24)):
        if value >= (1 << 32) - (1 << stored):
            return (value % (1 << stored) | prefix << 8 * (length - 1)).to_bytes(length, "big")
    return b"\xf0" + value.to_bytes(4, "big")


def wide(value: int) -> bytes:
    """As mach_u64_write_much_compressed writes it."""
    return number(value) if value < 1 << 32 else b"\xff" + number(value >> 32) + number(value % (1 << 32))


def record(kind: int, body: bytes, space: int = 0, page: int = 300) -> bytes:
    return bytes([kind]) + number(space) + number(page) + body


def undo(key: bytes, table: int = TABLE, kind: int = 11, row: int = 0) -> bytes:
    content = bytes([kind]) + wide(row) + wide(table) + number(len(key)) + key
    return record(20, struct.pack(">H", len(content)) + content, space=0xFFFF_FFEF)


def entry(row: int, space: int = 7, page: int = 5, *, header: bool = False) -> bytes:
    """An insertion into a leaf: only the bytes that differ from its predecessor, without the first ones of its key."""
    content = b"..key" + (row ^ 1 << 63).to_bytes(8, "big")
    differs = b"\0" + number(5) + number(9) if header else b""
    return record(67, INDEX + b"\0\x63" + number(2 * len(content) + header) + differs + content, space, page)


def transaction(*records: bytes) -> bytes:
    if len(records) == 1:
        return bytes([records[0][0] | ALONE]) + records[0][1:]
    return b"".join(records) + b"\x1f"


def position(offset: int) -> int:
    """In the log, of a byte of its stream, from the first block on."""
    return (FIRST_BLOCK + offset // 496) * 512 + 12 + offset % 496


def written(folder: Path, transactions: list[bytes], *, renamed: int = 0) -> tuple[Path, int, int]:
    """(Folder of the log's files, begin, end); the first `renamed` files are waiting for their turn."""
    starts, stream = [0], b""
    for each in transactions:
        stream += each
        starts.append(len(stream))
    place = folder / mysql_log.PLACE
    place.mkdir()
    for first in range(0, len(stream) // 496 + 1, FILE_BLOCKS):
        data = struct.pack(">IIQ32sI", 6, 1, (FIRST_BLOCK + first) * 512, b"MySQL 9.7.4", 8).ljust(2048, b"\0")
        for block in range(first, first + FILE_BLOCKS):
            body = stream[block * 496 : block * 496 + 496]
            group = next((at % 496 + 12 for at in starts if at // 496 == block), 0)
            which, epoch = (FIRST_BLOCK + block) % (1 << 30) + 1, (FIRST_BLOCK + block) // (1 << 30) + 1
            length = 512 if len(body) == 496 else 12 + len(body)
            head = struct.pack(">IHHI", which, length, group, epoch) if body else bytes(12)
            data += head + body.ljust(496, b"\0") + b"crcs"
        own = first // FILE_BLOCKS
        (place / (f"#ib_redo{own + 40}_tmp" if own < renamed else f"#ib_redo{own}")).write_bytes(data)
    (place / "#ib_redo99_tmp").write_bytes(bytes(2048 + 512 * FILE_BLOCKS))
    return place, position(0), position(len(stream))


def read(folder: Path, transactions: list[bytes], rows: int, width: int = 16) -> list[bytes]:
    return [bytes(key) for key in inserted_keys(windows(*written(folder, transactions)), TABLE, (width,), rows)]


OTHERS = [
    undo(b"k" * 16, table=TABLE + 1),
    undo(b"k" * 16, table=(1 << 32) + TABLE),
    undo(b"k" * 16, kind=12),
    entry(3),
    record(1, b"\0\x26" + number(200)),
    record(4, b"\0\x26" + number(0xFFFF_FFFF)),
    record(8, b"\0\x26" + number(1) + bytes(4)),
    record(11, b"\1\0\x80"),
    record(19, b""),
    record(22, number(2)),
    record(25, number(0) + bytes(4)),
    record(30, b"\0\x26\0\x28" + undo(b"k" * 16).ljust(40)),
    record(33, bytes(4) + b"\0\5a.ibd"),
    record(34, b"\0\5a.ibd\0\5b.ibd"),
    record(35, b"\0\5a.ibd"),
    record(36, b"\0\x80"),
    record(59, b""),
    record(61, bytes(8)),
    b"\x3e" + wide(TABLE) + wide(1) + b"\2" + wide(1 << 40),
    b"\x3e" + wide(TABLE) + wide(1) + b"\1\2" + bytes(24),
    record(65, bytes(16)),
    record(68, INDEX + b"\0\1" + number(2) + bytes(7) + number(0) + bytes(4) + b"\0\x80"),
    record(69, INDEX + b"\0\x80"),
    record(
        70, INDEX + b"\0" + number(2) + bytes(7 + 1 + 4 + 2) + b"\0\2\4" + number(2) + b"ab\5" + number((1 << 32) - 1)
    ),
    record(71, INDEX + struct.pack(">I", 600) + b"r" * 600),
    record(72, INDEX),
    record(72, b"\1\0"),
    record(69, b"\1\7" + struct.pack(">HHHHHHHHBBHH", 2, 1, 1, 1, 2, 2, 1, 0xC002, 1, 2, 0, 1) + b"\0\x80"),
    record(69, b"\1\2" + struct.pack(">HHHHB", 2, 1, 1, 0x8001, 1) + b"\0\x80"),
]


@settings(deadline=None, max_examples=40)
@given(
    st.lists(
        st.tuples(
            st.binary(min_size=16, max_size=16),
            st.integers(0, 1 << 40),
            st.lists(st.sampled_from(OTHERS), max_size=3),
            st.lists(st.sampled_from(OTHERS), max_size=3),
        ),
        min_size=1,
        max_size=30,
    )
)
def test_insertions_are_found_among_other_records(tmp_path_factory, rows) -> None:
    log = []
    for key, row, before, after in rows:
        log += [transaction(each) for each in before] + [transaction(undo(key, row=row), *after)]
    assert read(tmp_path_factory.mktemp("log"), log, len(rows)) == [key for key, *_ in rows]


@settings(deadline=None, max_examples=15)
@given(st.permutations(range(40)), st.data())
def test_entries_of_an_index_are_told_from_copies_and_node_pointers(tmp_path_factory, rows, data) -> None:
    """Row numbers are even; where a page splits, earlier entries are inserted again."""
    log = []
    for i, row in enumerate(rows):
        copies = data.draw(st.lists(st.sampled_from(rows[:i]), max_size=3)) if i else []
        pointer = record(67, INDEX + b"\0\x63\x18" + (2 * row).to_bytes(8, "big") + (5).to_bytes(4, "big"), 7, 4)
        others = [entry(2 * other, space, page) for other in rows[i:][:1] for space, page in ((7, 6), (8, 5))]
        moved = [entry(2 * copy) for copy in copies]
        log.append(transaction(*others, *moved, entry(2 * row, header=data.draw(st.booleans())), pointer))
    found = entered_rows(windows(*written(tmp_path_factory.mktemp("log"), log)), (7, np.array([4, 5])), 78, len(rows))
    assert found.tolist() == [2 * row for row in rows]


def test_all_columns_of_a_primary_key_are_read(tmp_path) -> None:
    log = []
    for i in range(9):
        content = b"\x0b" + wide(i) + wide(TABLE) + number(8) + b"moment.." + number(16) + bytes([i]) * 16
        log.append(transaction(record(20, struct.pack(">H", len(content)) + content)))
    keys = inserted_keys(windows(*written(tmp_path, log)), TABLE, (8, 16), 9)
    assert [bytes(key) for key in keys] == [b"moment.." + bytes([i]) * 16 for i in range(9)]


def test_windows_end_between_records_also_inside_a_mini_transaction(tmp_path, monkeypatch) -> None:
    monkeypatch.setattr(mysql_log, "_WINDOW", 700)
    keys = [struct.pack(">QQ", i, i) for i in range(20_000)]
    log = [transaction(*(undo(key) for key in keys[i : i + 500])) for i in range(0, len(keys), 500)]
    place, begin, end = written(tmp_path, log)
    assert len(list(windows(place, begin, end))) > 2
    assert [bytes(key) for key in inserted_keys(windows(place, begin, end), TABLE, (16,), len(keys))] == keys


def test_files_that_wait_for_their_turn_are_read(tmp_path) -> None:
    keys = [bytes([i]) * 16 for i in range(200)]
    place, begin, end = written(tmp_path, [transaction(undo(key)) for key in keys], renamed=3)
    assert sorted(path.name for path in place.iterdir())[-3:] == ["#ib_redo41_tmp", "#ib_redo42_tmp", "#ib_redo99_tmp"]
    assert [bytes(key) for key in inserted_keys(windows(place, begin, end), TABLE, (16,), 200)] == keys
    (place / "#ib_redo40_tmp").unlink()
    message = "of 5,776 bytes it keeps 4,252: take fewer rows or a larger innodb_redo_log_capacity."
    assert raised(UnreadableError, next, windows(place, begin, end)) == message


def changed(place: Path, at: int, value: bytes) -> None:
    """Overwrites bytes of the first file."""
    file = place / "#ib_redo0"
    data = file.read_bytes()
    file.write_bytes(data[:at] + value + data[at + len(value) :])


@pytest.mark.parametrize(
    ("at", "value", "message"),
    [
        (3, b"\5", "it is not in the format of MySQL 8.0.30 to 9.7."),
        (2048 + 512 + 4, b"\x82", "it is encrypted."),
        (2048 + 512 + 4, b"\1\0", "the server has not written all of it."),
        (2048 + 512, b"\0", "the server has used one of its files anew meanwhile."),
        (2048 + 512 + 8, b"\0\0\0\2", "the server has used one of its files anew meanwhile."),
        (2048 + 512 + 6, b"\0\x0e", "mini-transactions do not begin where its blocks say."),
        (2048 + 12, b"\xb3", f"{FIRST} is of type 51, which keybench does not know."),
        (2048 + 12, b"\xc9", f"{FIRST} is of type 73, which keybench does not know."),
        (2048 + 12, b"\x80", f"{FIRST} is of type 0, which keybench does not know."),
        (2048 + 12, b"\x9f", f"{FIRST} is damaged."),
        (2048 + 12, b"\xc3", f"{FIRST} is damaged."),
        (2048 + 500, b"", "it shows 60 insertions of 61 rows."),
    ],
)
def test_a_log_that_cannot_be_used_is_refused(tmp_path, at, value, message) -> None:
    place, begin, end = written(tmp_path, [transaction(undo(b"k" * 16)) for _ in range(60)])
    changed(place, at, value)
    assert raised(UnreadableError, inserted_keys, windows(place, begin, end), TABLE, (16,), 61) == message


@settings(deadline=None, max_examples=40)
@given(st.binary(min_size=1, max_size=1000), st.integers(0, 1000))
def test_damage_is_noticed_or_harmless(tmp_path_factory, content, at) -> None:
    log = b"".join(transaction(undo(b"k" * 16)) for _ in range(30))
    place, begin, end = written(tmp_path_factory.mktemp("log"), [log[:at] + content + log[at:]])
    with pytest.raises(UnreadableError):
        inserted_keys(windows(place, begin, end), TABLE, (16,), 1 << 10)


@pytest.fixture(scope="module")
def server(servers: Servers) -> Address:
    return servers.address(ENGINE, "local")


@pytest.fixture
def admin(server: Address) -> Iterator[MySqlAdmin]:
    with_admin = MySqlAdmin(server)
    yield with_admin
    with_admin.close()


@pytest.mark.parametrize(
    ("column", "role"),
    [("binary16", "clustered"), ("bigint", "clustered"), ("char36-default", "clustered"), ("char36", "nonclustered")],
)
@pytest.mark.parametrize("rows", [700, pytest.param(100_000, marks=pytest.mark.long)])
def test_the_log_shows_one_writers_rows_in_their_order(admin, column, role, rows: int) -> None:
    sized, keys = taken_by(ENGINE.column(column), random(rows))
    on = Table("trial", sized, 20, role)
    admin.create(on)
    folder = Path(admin.address.parameters["data"], mysql_log.PLACE)
    begin, _ = log_positions(admin)
    send(admin.address, on, keys, rows_per_tx=100)
    log = windows(folder, begin, flushed_log(admin))
    if role == "clustered":
        found = rank(Keys(inserted_keys(log, table_id(admin, on), (sized.width,), rows), "bytes"), "rfc")
        encoded = sized.encode(keys)
        assert found.tolist() == rank(Keys(encoded, "int" if encoded.ndim == 1 else "bytes"), "rfc").tolist()
    else:
        index = read_index(admin, on)
        numbers = entered_rows(log, (index_space(admin, on), np.concatenate(index.levels)), 2 * rows, rows)
        assert (np.diff(numbers) > 0).all(), "row numbers ascend with the rows of one writer"


def index_space(admin: MySqlAdmin, on: Table) -> int:
    with flushed(admin, on) as pages:
        return space(pages)


@pytest.mark.parametrize("on", [ENGINE, MARIADB], ids=lambda on: on.name)
def test_a_table_by_date_is_known_in_the_order_of_its_rows(servers: Servers, on: Engine) -> None:
    table = Table("trial", on.column("binary16"), 20, "by-date")
    keys, moments = random(500), 1_700_000_000_000_000 + np.arange(500) // 3 * 1000
    admin = MySqlAdmin(servers.address(on, "local"))
    try:
        admin.create(table)
        recorder = admin.arrival_recorder()
        recorder.before(table)
        session = MySqlSession(admin.address, table)
        for batch in session.prepare(keys, Payload(20, moments), 0, 50):
            session.send(batch)
        session.close()
        arrivals = recorder.after(table)
    finally:
        admin.close()
    transaction_of = dict(zip(map(bytes, arrivals.keys), arrivals.transactions.tolist(), strict=True))
    assert arrivals.near == BY_DATE
    assert arrivals.sequence.tolist() == [transaction_of[bytes(key)] for key in keys.data]


def test_a_type_of_record_that_keybench_does_not_know_leaves_the_order_of_transactions(admin) -> None:
    on = Table("trial", ENGINE.column("binary16"), 0)
    admin.create(on)
    recorder = admin.arrival_recorder()
    recorder.before(on)
    send(admin.address, on, random(100))
    admin.rows("CREATE TABLE keybench.`compressed` (id int PRIMARY KEY) ROW_FORMAT = COMPRESSED")
    try:
        arrivals = recorder.after(on)
    finally:
        admin.rows("DROP TABLE keybench.`compressed`")
    assert re.sub(r"[\d,]+ is", "N is", arrivals.near) == (
        "By the order of transactions, which is near that of their rows: the log cannot be used, because its record at "
        "N is of type 51, which keybench does not know."
    )
    assert arrivals.sequence.tolist() == sorted(arrivals.transactions.tolist())
