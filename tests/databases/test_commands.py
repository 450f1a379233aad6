"""`keybench list databases` and `keybench list sql`."""

from collections.abc import Callable

import pytest

from keybench import cli
from keybench.databases.postgresql import engine as postgresql
from keybench.databases.registry import engines
from keybench.listing import app

Command = Callable[..., "tuple[int, str, str]"]


@pytest.fixture
def command(capsys, monkeypatch) -> Command:
    """Runs a command at a terminal width. Returns its exit code, its output and its errors."""

    def run(*arguments: str, width: int = 120) -> tuple[int, str, str]:
        monkeypatch.setenv("COLUMNS", str(width))
        monkeypatch.setenv("DOCKER_HOST", "unix:///nonexistent/docker.sock")
        with pytest.raises(SystemExit) as end:
            cli.run(app, arguments)
        printed = capsys.readouterr()
        return end.value.code, printed.out, printed.err

    return run


@pytest.mark.parametrize("width", [80, 120])
def test_the_list_has_every_engine_with_its_servers_and_columns(width, command) -> None:
    code, out, err = command("databases", width=width)
    assert (code, err) == (0, "")
    assert all(len(line.rstrip()) <= width for line in out.splitlines())
    parts = dict(zip(engines(), out.split("\n\n"), strict=True))
    for name, engine in engines().items():
        lines = parts[name].splitlines()
        assert lines[0] == f"{engine.title} ({name})"
        for kind in engine.servers:
            assert any(line.startswith(f"  server {kind}: ") for line in lines)
        for column in engine.columns:
            (line,) = [line for line in lines if line.startswith(f"  {column.name} ")]
            assert column.order in line.split()
            assert set(column.kinds) <= {word.strip(",") for word in line.split()}


def test_a_server_that_cannot_be_started_says_why(command, monkeypatch) -> None:
    monkeypatch.setattr(postgresql.PostgreSQL, "missing", lambda self, kind: f"no {kind} one: install it.")
    _, out, _ = command("databases", "postgresql")
    assert out.splitlines()[:7] == [
        "PostgreSQL (postgresql)",
        "  server container: no container one: install it.",
        "  server local: no local one: install it.",
        "  server embedded: no embedded one: install it.",
        "  URLs of your own servers: postgresql://…",
        "  keys of its own: server-identity, server-uuid-v4, server-uuidv7",
        "  functions: date_from_comb, date_from_comb_legacy, new_comb, new_comb_legacy, uuid_v7 (keybench list sql "
        "postgresql)",
    ]


@pytest.mark.parametrize("name", ["new_comb_legacy", "NewCombLegacy", "newcomblegacy"])
def test_sql_prints_one_function_whatever_the_spelling_of_its_name(name, command) -> None:
    code, out, err = command("sql", "postgresql", name)
    assert (code, err) == (0, "")
    assert out.count("CREATE OR REPLACE FUNCTION") == 1
    assert "FUNCTION new_comb_legacy(" in out
    assert out.startswith("-- new_comb_legacy()")


def test_sql_prints_all_functions(command) -> None:
    code, out, _ = command("sql", "postgresql")
    assert code == 0
    assert out.count("CREATE OR REPLACE FUNCTION") == len(engines()["postgresql"].functions()) == 5


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("databases", "sqlit"), "unknown database 'sqlit'. Did you mean sqlite"),
        (("sql", "sqlserve"), "unknown database 'sqlserve'. Did you mean sqlserver or sqlite"),
        (("sql", "postgress"), "unknown database 'postgress'. Did you mean postgresql?"),
        (("sql", "postgresql", "new_com"),
         "unknown postgresql function 'new_com'. Did you mean new_comb or new_comb_legacy?"),
        (("sql", "postgresql", "sequence"), "unknown postgresql function 'sequence'. Known: date_from_comb, "),
        (("sql", "sqlite"), "there are no SQL functions for sqlite: choose one of "),
        (("sql", "sqlite", "new_comb"), "there are no SQL functions for sqlite: choose one of "),
        (("sql",), "Missing argument 'ENGINE'. See --help."),
    ],
)  # fmt: skip
def test_a_wrong_name_is_one_line_and_exit_2(arguments, message, command) -> None:
    code, out, err = command(*arguments)
    assert (code, out) == (2, "")
    assert err.startswith(f"keybench: {message}")
    assert err.count("\n") == 1
