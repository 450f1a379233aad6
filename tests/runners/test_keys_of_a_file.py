"""`keybench run --keys FILE`: a library's keys as a layout, and what such a file must not hold."""

import uuid
from pathlib import Path

import pytest

from keybench.model.metric import Metric
from tests.runners.conftest import Run, latest_trials

UUIDS = [str(uuid.UUID(int=n * 0x1234567 << 64 | n)) for n in range(1, 1001)]
FILES = {
    "uuids": UUIDS,
    "without hyphens": [text.replace("-", "") for text in UUIDS],
    "integers": [str(7 * n) for n in range(1000)],
    "hexadecimal": [f"{n:024x}" for n in range(1000)],
    "text": [f"01HZ{n:022d}" for n in range(1000)],
}


def run_with(here: Run, folder: Path, lines: list[str], *options: str) -> str:
    (folder / "keys.txt").write_text("\n".join(lines) + "\n", encoding="utf-8")
    done = here("--db", "sqlite", "--keys", str(folder / "keys.txt"), "--blocks", "1", *options)
    return done.stderr if done.returncode else ""


@pytest.mark.parametrize("form", FILES)
def test_a_file_is_a_layout_whose_keys_come_in_its_order(here: Run, tmp_path: Path, form: str) -> None:
    assert run_with(here, tmp_path, FILES[form], "--layout", "uuid-v4", "--profile", "fast") == ""
    trials = {trial.layout: trial for trial in latest_trials(tmp_path)}
    assert set(trials) == {"bigint-identity", "uuid-v4", f"file:{tmp_path}/keys.txt"}
    measured = trials[f"file:{tmp_path}/keys.txt"]
    values = {one.metric: one.value for one in measured.readings if one.subject.name == ""}
    assert measured.rows == 1000
    assert values[Metric.POSITION_MEAN] == 0.0, "each key is above all before it"


@pytest.mark.parametrize(
    ("lines", "options", "said"),
    [
        (["1", "2", "1"], (), "line 3: repeats the key of line 1."),
        (["1", "", "2"], (), "line 2: is empty: leave the line out."),
        (["1", "x"], (), "line 2: 'x' is not an integer, as keys of this file are."),
        (["1", str(1 << 63)], (), "line 2: 9223372036854775808 has more than 64 bits."),
        (["ulid", "ulids"], (), "line 2: has 5 characters, and line 1 has 4."),
        (["1", "2"], ("--rows", "3"), "has 2 keys, too few for 3 rows: give fewer."),
        ([UUIDS[0], "ffffffff-0000-8000-5000-000000000001"],
         ("--db", "mariadb", "--server", "model", "--column", "uuid"),
         "line 2: the column uuid of MariaDB cannot hold this key"),
    ],
)  # fmt: skip
def test_keys_that_no_table_could_hold_are_refused(
    here: Run, tmp_path: Path, lines: list[str], options: tuple[str, ...], said: str
) -> None:
    assert said in run_with(here, tmp_path, lines, *options)
