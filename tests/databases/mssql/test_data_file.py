"""Data files: read as SQL Server lays them out, compared with the page model, and refused where they are damaged."""

import os
import struct
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest

from keybench.databases.contract.questions import Verdict
from keybench.databases.core.probes import UnreadableError
from keybench.databases.mssql.file_verdicts import verdicts
from keybench.runners.verify.command import app
from tests.databases.mssql.data_files import PAGE, FileOfPages, data_row
from tests.runners.conftest import environment, in_this_process

ROWS, SECOND = 900, 80
"""Rows, and the page at which the leaves of the index begin."""
HALVES = [range(447, -1, -1), range(448, 674), range(674, 900)]
"""The index's leaves as rows lie in them. Its keys come from 899 down, and a leaf has room for 449: twice the first
leaf is halved for a row before all others, and keeps 224 with that row (docs/internals/mssql.md §2, from 2012 on)."""


def small(index_leaves: Sequence[Sequence[int]] = HALVES, numbers: Sequence[int] = range(40, 60)) -> FileOfPages:
    """900 rows that came in key order, with an index whose keys go down. `numbers`: pages of the table's leaves."""
    file = FileOfPages()
    table = {key: data_row(struct.pack("<QI", key, ROWS - 1 - key) + b"p" * 57) for key in range(ROWS)}
    of_leaf = 8096 // (len(table[0]) + 2)
    file.leaves("clustered", numbers, [range(i, min(i + of_leaf, ROWS)) for i in range(0, ROWS, of_leaf)], table)
    index = {key: struct.pack("<BIQHB", 0x16, key, ROWS - 1 - key, 2, 0) for key in range(ROWS)}
    file.leaves("index", range(SECOND, SECOND + 3), index_leaves, index)
    return file


def judged(path: Path, content: bytes) -> dict[str, Verdict]:
    """The verdicts on the indexes of a file with that content."""
    path.write_bytes(content)
    return {text.partition(":")[0]: verdict for text, verdict in verdicts(path)}


@pytest.mark.parametrize("backup", [False, True])
def test_indexes_are_read_and_those_of_the_model_are_equal(tmp_path: Path, backup: bool) -> None:
    path = tmp_path / "small"
    path.write_bytes(small().written(backup=backup))
    assert list(verdicts(path)) == [
        (
            "t.pk: 900 rows of 76 bytes; 9 leaves of 103 103 103 103 103 103 103 103 76 rows, 96.34 % full, 0.0 % not "
            "adjacent; rows came in key order in 9 leaves",
            Verdict("equal"),
        ),
        (
            "t.ix: 900 rows of 16 bytes; 3 leaves of 448 226 226 rows, 66.69 % full, 0.0 % not adjacent; rows came in "
            "key order in 2 leaves; in others the first 1 to 1 did, of which a split moved some",
            Verdict("equal"),
        ),
    ]


def test_a_row_in_another_leaf_differs(tmp_path: Path) -> None:
    wrong = small([range(446, -1, -1), range(447, 674), range(674, 900)])
    assert judged(tmp_path / "wrong.mdf", wrong.written())["t.ix"] == Verdict(
        "differs", "the model has 3 leaves of 448 226 226 rows"
    )


def test_an_order_that_the_file_does_not_show_is_no_verdict(tmp_path: Path) -> None:
    found = judged(tmp_path / "x.mdf", small(numbers=range(48, 39, -1)).written())
    why = "the pages of its table were not made in key order, so that the file does not show when its rows came"
    assert found == {"t.pk": Verdict("not measured", why), "t.ix": Verdict("not measured", why)}


@pytest.mark.parametrize("after", [SECOND, SECOND + 1, 7])
def test_a_chain_without_an_end_is_an_error(tmp_path: Path, after: int) -> None:
    file = small()
    struct.pack_into("<I", file.pages[SECOND + 1], 16, after)
    found = judged(tmp_path / "x.mdf", file.written())
    assert found == {"t.pk": Verdict("equal"), "t.ix": Verdict("not measured", "its leaf pages are not one chain.")}


@pytest.mark.parametrize("backup", [False, True])
def test_damaged_files_are_errors_or_verdicts_and_nothing_else(tmp_path: Path, backup: bool) -> None:
    content, chance = small().written(backup=backup), np.random.default_rng(3)
    cut = [outcomes(tmp_path, content[: len(content) * part // 40]) for part in range(40)]
    assert cut[:9] == [None] * 9  # the system tables are in the first pages
    assert all(found is None or (found.count("equal") < 2 and "differs" not in found) for found in cut)
    where = np.flatnonzero(np.frombuffer(content, np.uint8))  # the bytes that mean something
    for number in range(150):
        damaged = bytearray(content)
        for at in chance.choice(where if number % 2 else where[where < 22 * PAGE], 30):  # the system tables are there
            damaged[at] ^= 1 << int(chance.integers(8))
        outcomes(tmp_path, bytes(damaged))
    for value in (0, 0xFF):
        assert outcomes(tmp_path, bytes([value]) * 40 * PAGE) is None


def outcomes(folder: Path, content: bytes) -> list[str] | None:
    """Those of the indexes of a file with that content, None if it cannot be read. Any other error fails the test."""
    try:
        return [verdict.outcome for verdict in judged(folder / "damaged", content).values()]
    except UnreadableError:
        return None


def test_the_command_prints_verdicts_and_no_values(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    verify = in_this_process(app, environment(tmp_path), tmp_path, monkeypatch, capsys)
    (tmp_path / "wrong.mdf").write_bytes(small([range(446, -1, -1), range(447, 674), range(674, 900)]).written())
    done = verify("mssql", "--file", "wrong.mdf")
    assert done.returncode == 1
    assert "1 equal, 1 differs, 0 could not be measured\n" in done.stdout
    assert "ppp" not in done.stdout
    (tmp_path / "cut.mdf").write_bytes(b"x")
    assert (refused := verify("mssql", "--file", "cut.mdf")).returncode == 2
    assert "the file cut.mdf cannot be read: it is shorter than a page." in refused.stderr
    assert "keybench reads no files of SQLite: leave out --file." in verify("sqlite", "--file", "cut.mdf").stderr


def test_a_file_that_a_server_wrote_has_the_models_indexes() -> None:
    """`KEYBENCH_MDF` names Northwind, as Microsoft's script makes it on SQL Server 2008, or another such file."""
    if not (path := os.environ.get("KEYBENCH_MDF", "")):
        pytest.skip("KEYBENCH_MDF names no data file that a SQL Server wrote")
    found = dict(verdicts(Path(path)))
    assert [verdict.outcome for verdict in found.values()] == ["equal"] * len(found)
    assert len(found) > 1
