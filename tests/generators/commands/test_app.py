"""The commands list, make and decode."""

import re
import subprocess
import sys
import uuid
from collections.abc import Callable
from pathlib import Path
from unicodedata import east_asian_width

import pytest

from keybench import cli
from keybench.generators.commands.app import app
from keybench.generators.commands.decode import odds
from keybench.generators.commands.list import digits_of, duration
from keybench.generators.core.clock import UNIX_EPOCH
from keybench.generators.core.layout import layout, layouts
from keybench.model.byteorder import PERMUTATIONS

NAMES = sorted({known.name for known in layouts().values()})
KEY = "d01c25cc-63a7-47cc-b5ba-018e5f3bff48"
Command = Callable[..., "tuple[int, str, str]"]


@pytest.fixture
def command(capsys, monkeypatch) -> Command:
    """Runs a command at a terminal width: its exit code, what it prints, and its errors."""

    def run(*arguments: str, width: int = 80) -> tuple[int, str, str]:
        monkeypatch.setenv("COLUMNS", str(width))
        with pytest.raises(SystemExit) as end:
            cli.run(app, arguments)
        printed = capsys.readouterr()
        return end.value.code, printed.out, printed.err

    return run


def fits(text: str, width: int) -> bool:
    assert not [sign for sign in text if east_asian_width(sign) in "WF"]
    return all(len(line.rstrip()) <= width for line in text.splitlines())


@pytest.mark.parametrize("width", [80, 120])
def test_the_list_names_every_layout_and_its_columns(width, command) -> None:
    code, out, err = command("list", width=width)
    assert (code, err) == (0, "")
    assert fits(out, width)
    lines = out.splitlines()
    for name in NAMES:
        (line,) = [line for line in lines if line[:1] != " " and line.split()[:1] == [name]]
        assert line.split()[1] == layout(name).kind
    row = next(line for line in lines if line.startswith("rt-comb-sql "))
    assert row.split()[2:7] == ["·", "·", "◐", "·", "◐"]
    row = next(line for line in lines if line.startswith("efcore-sequential "))
    assert row.split()[2:7] == ["·", "·", "●¹", "·", "·"]


def test_the_list_of_one_column(command) -> None:
    _, out, _ = command("list", "--on", "mssql")
    first = {line.split()[0] for line in out.splitlines() if line and not line.startswith(" ")}
    assert {"rt-comb-sql", "jhtodd-end", "efcore-sequential", "morris"} <= first
    assert not {"uuid-v7", "uuid-v4", "bigint-identity", "jhtodd-string"} & first


@pytest.mark.parametrize("name", NAMES)
def test_each_layout_is_shown_in_full(name, command) -> None:
    code, out, err = command("list", name)
    assert (code, err) == (0, "")
    assert fits(out, 80)
    assert out.startswith(name)
    flat = " ".join(out.split())
    description = layout(name).description
    for text in (layout(name).source, *description.meanings.values(), *description.caveats):
        assert " ".join(text.split()) in flat


def test_the_diagram_and_the_digits(command) -> None:
    _, out, _ = command("list", "uuid-v7")
    assert "\n\nT48 V4:7 R12 X2:2 R62\nTTTTTTTT-TTTT-7RRR-XRRR-RRRRRRRRRRRR\n\n" in out


@pytest.mark.parametrize("name", [name for name in NAMES if layout(name).kind == "uuid"])
def test_the_digits_agree_with_the_parts(name) -> None:
    description = layout(name).description
    digits = digits_of(description)
    mask, bits = description.fixed()
    for place, digit in enumerate(digits):
        four = slice(4 * place, 4 * place + 4)
        if mask[four].all():
            assert int(digit, 16) == int("".join(map(str, bits[four])), 2)
        else:
            assert digit in description.meanings


@pytest.mark.parametrize("name", NAMES)
def test_keys_are_made_and_can_be_read_again(name, command) -> None:
    code, out, err = command("make", name, "-n", "3")
    assert (code, err) == (0, "")
    made = out.split()
    assert len(made) == len(set(made)) == 3
    if layout(name).kind == "uuid":
        assert [str(uuid.UUID(key)) for key in made] == made
    code, out, err = command("decode", "--", made[0])
    assert (code, err) == (0, "")
    assert f"\n  {name} " in out
    assert fits(out, 80)


def test_many_keys_are_made_in_chunks(command) -> None:
    _, out, _ = command("make", "uuid-v7", "-n", "40000")
    keys = out.splitlines()
    assert len(keys) == len(set(keys)) == 40_000


def test_a_key_is_decoded(command) -> None:
    code, out, _ = command("decode", KEY.upper())
    assert code == 0
    lines = [line.strip() for line in out.splitlines()]
    assert lines[0] == KEY
    assert "rt-comb-sql                  2024-03-21T04:19:11.3040000Z" in lines
    assert lines.index("Likely") < lines.index("Possible")
    assert "No bits tell these apart." in out, "with rt-comb-sql-no-repeat"
    _, out, _ = command("decode", "--", "-JhLeOlGIEjaIOFHR0xd")
    assert "pushid                       2015-02-04T22:15:31.1530000Z" in out
    assert "No bits tell these apart" not in out


def test_a_random_guid_and_a_weak_case_are_called_so(command) -> None:
    _, out, _ = command("decode", "3f2b8a54-c1d7-4e0a-9b6f-52d1c7e8a903")
    assert out.split("\n\n")[1].startswith("Random, no structure\n  No bits tell these apart.\n  uuid-v4 ")
    _, out, _ = command("decode", "1541815603606036480")
    assert "No layout fits 1,200 times better than a random value would: none of these is likely." in " ".join(
        out.split()
    )
    assert "Likely" not in out


def test_a_key_of_no_layout(command) -> None:
    _, out, _ = command("decode", "--", "-7")
    assert out == "-7\n\nNo layout has such keys.\n"


def test_bytes_from_a_column_are_decoded(command) -> None:
    shuffled = uuid.UUID(KEY).bytes_le.hex()
    assert command("decode", shuffled, "--stored", "net")[1] == command("decode", KEY)[1]


def test_the_wrong_layout_reads_a_key_as_its_original_does(command) -> None:
    """RT.Comb's readers read any six bytes as a time."""
    _, out, _ = command("decode", KEY, "--as", "rt-comb-postgresql")
    assert out.splitlines()[2:4] == ["Unlikely", "  rt-comb-postgresql           9220-12-29T15:56:53.5430000Z"]
    code, _, err = command("decode", KEY, "--as", "rt-comb-legacy")
    assert (code, err) == (
        2,
        f"keybench: {KEY} is no rt-comb-legacy key: its time component exceeds 24 hours. Decode it as the layout that "
        "made it.\n",
    )


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["make", "uuid-v77"], "keybench: unknown layout 'uuid-v77'. Did you mean uuid-v7"),
        (["decode", KEY, "--as", "uuid-v77"], "keybench: unknown layout 'uuid-v77'. Did you mean uuid-v7"),
        (["decode", KEY[1:]], f"keybench: {KEY[1:]!r} is no key of any layout: "),
        (["decode", KEY, "--stored", "nett"], "keybench: unknown order 'nett'. Did you mean net?"),
        (["list", "--on", "oracl"], "keybench: unknown column 'oracl'. Did you mean oracle"),
        (["make", "uuid-v7", "-n", "0"], "keybench: Invalid value for '-n' / '--number': "),
    ],
)
def test_bad_input_is_one_line_and_exit_2(arguments, message, command) -> None:
    code, out, err = command(*arguments)
    assert (code, out) == (2, "")
    assert err.startswith(message)
    assert err.count("\n") == 1


@pytest.mark.parametrize(
    ("ticks", "text"),
    [(1, "100 ns"), (10, "1 µs"), (33_334, "3.33 ms"), (10**7, "1 s"),
     (60 * 10**7, "60 s"), (UNIX_EPOCH, "719,162 days")],
)  # fmt: skip
def test_durations_as_text(ticks, text) -> None:
    assert duration(ticks) == text


@pytest.mark.parametrize(
    ("chance", "text"), [(1, "any value fits"), (1 / 64, "by chance 1 in 64"), (1 / 13_930, "by chance 1 in 14,000")]
)
def test_odds_as_text(chance, text) -> None:
    assert odds(chance) == text


def test_help_names_every_order_and_imports_little() -> None:
    code = """
import sys
from keybench.generators.commands.app import main
sys.argv = ["generators", "decode", "--help"]
try:
    main()
except SystemExit as end:
    assert not end.code
assert not {"numpy", "keybench.generators.core.layout"} & set(sys.modules)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd="/")
    assert f"{', '.join(PERMUTATIONS)}." in " ".join(re.sub(r"[^ -~]", " ", done.stdout).split())


def test_it_is_a_module_too() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "generators", "make", "uuid-v4"],
        cwd=Path(__file__).parents[3],
        capture_output=True,
        text=True,
        check=True,
    )
    assert uuid.UUID(done.stdout.strip()).version == 4
