"""The columns in which layouts are measured, and the layouts whose keys servers make."""

from pathlib import Path

import pytest

from keybench.databases.registry import engine, engines
from keybench.errors import UsageError
from keybench.generators.commands.list import ascents
from keybench.generators.core.layout import layout, layouts
from keybench.model.column import Pairing
from keybench.model.metric import Metric
from keybench.model.names import CONTROL, SUITED
from keybench.model.subject import KEY
from keybench.runners.planning.columns import (
    check_columns,
    check_scenario,
    columns_for,
    columns_of,
    pairing,
    pairing_of,
)
from keybench.scenarios.files import parse_scenario
from tests.runners.conftest import Run, latest_trials

OWN = {"mssql": "uniqueidentifier", "postgresql": "uuid", "oracle": "raw16", "mysql": "binary16", "sqlite": "binary16"}


@pytest.mark.parametrize(("database", "own"), OWN.items())
def test_every_layout_of_guids_is_measured_in_the_engines_own_type(database: str, own: str) -> None:
    for known in layouts().values():
        if known.kind == "uuid":
            assert columns_for(engine(database), known, []) == [own], known.name
            assert columns_for(engine(database), known, ["native"]) == [own], known.name


@pytest.mark.parametrize(
    ("database", "name", "both"),
    [
        ("mssql", "uuid-v7", ["uniqueidentifier", "binary16"]),
        ("mssql", "jhtodd-binary", ["uniqueidentifier", "binary16-net"]),
        ("mssql", "rt-comb-sql", ["uniqueidentifier"]),
        ("mssql", "mysql-uuid", ["uniqueidentifier"]),  # no column of SQL Server's suits it
        ("mssql", "uuid-v4", ["uniqueidentifier"]),  # nor does any column suit keys without an order
        ("mssql", CONTROL, ["bigint"]),
        ("mssql", "ksuid", ["binary"]),
        ("postgresql", "rt-comb-sql", ["uuid"]),  # a column that imitates another server's order is never the one
        ("oracle", "jhtodd-binary", ["raw16", "raw16-net"]),
        ("mysql", "mysql-uuid", ["binary16", "binary16-swapped"]),
    ],
)
def test_the_suiting_column_is_measured_beside_the_default_where_it_is_another(database, name, both) -> None:
    assert columns_for(engine(database), layout(name), [SUITED]) == both


def test_suited_can_be_asked_for_together_with_other_columns() -> None:
    on = engine("mssql")
    assert columns_for(on, layout("uuid-v7"), [SUITED, "char36"]) == ["uniqueidentifier", "binary16", "char36"]
    assert columns_for(on, layout("rt-comb-sql"), [SUITED, "char36"]) == ["uniqueidentifier", "char36"]


def test_mariadbs_own_type_is_the_default_unless_it_may_refuse_keys_of_the_layout() -> None:
    on = engine("mariadb")
    guids = [known for known in layouts().values() if known.kind == "uuid"]
    chosen = {known.name: columns_for(on, known, []) for known in guids}
    assert chosen == {known.name: columns_for(on, known, ["native"]) for known in guids}
    assert all(columns in (["uuid"], ["binary16"]) for columns in chosen.values())
    for name in ("uuid-v4", "uuid-v7", "rt-comb-sql", "rt-comb-postgresql", "dotnet-v7"):
        assert chosen[name] == ["uuid"], name
    for name in ("jhtodd-string", "morris", "ulid", "hotguid"):
        assert chosen[name] == ["binary16"], name
    assert columns_for(on, layout("rt-comb-postgresql"), [SUITED]) == ["uuid", "binary16"]
    assert columns_for(on, layout("rt-comb-sql"), [SUITED]) == ["uuid"]
    assert columns_for(on, layout("jhtodd-binary"), [SUITED]) == ["binary16", "binary16-net"]


def test_mariadbs_uuid_suits_layouts_whose_values_it_always_swaps_and_those_it_never_does() -> None:
    (of_mariadb,) = (column for column in engine("mariadb").columns if column.order == "mariadb")
    assert layout("rt-comb-sql").suits(of_mariadb)  # version 4: compared from the last six bytes on
    assert layout("uuid-v7").suits(of_mariadb)  # never swapped
    assert layout("mariadb-uuid-v1").suits(of_mariadb)  # clock sequence and node are the same in all keys of a server
    assert not layout("rt-comb-postgresql").suits(of_mariadb)
    assert not layout("newsequentialid").suits(of_mariadb)  # whether it is swapped depends on the time
    assert not layout("jhtodd-end").suits(of_mariadb)  # refused in part


@pytest.mark.parametrize("known", list(dict.fromkeys(layouts().values())), ids=lambda known: known.name)
def test_keys_ascend_in_every_column_that_suits_their_layout(known) -> None:
    for on in engines().values():
        for column in on.columns:
            if known.suits(column):
                assert ascents(known)[column.order].within in ("strictly", "by time"), (on.name, column.name)


def test_a_pairing_names_the_default_and_all_columns_that_suit() -> None:
    assert pairing(engine("mssql"), layout("uuid-v7")) == Pairing(
        "uniqueidentifier", "binary16", True, ("binary16", "char36")
    )
    assert pairing(engine("postgresql"), layout("rt-comb-sql")) == Pairing("uuid", "", True, ("binary16-mssql",))
    assert pairing(engine("mssql"), layout("uuid-v4")) == Pairing("uniqueidentifier", "", False, ())


def test_keys_that_the_server_makes_have_one_column() -> None:
    assert columns_of(engine("mssql"), "server-newsequentialid", [SUITED]) == ["uniqueidentifier"]
    assert columns_of(engine("sqlite"), "server-newsequentialid", [SUITED]) == []
    assert pairing_of(engine("sqlite"), "server-newsequentialid") is None
    assert pairing_of(engine("mssql"), "server-newid") == Pairing("uniqueidentifier", "", False, ())
    made = pairing_of(engine("postgresql"), "server-uuidv7")
    assert made == Pairing("uuid", "uuid", True, ("uuid",))


def test_a_column_asked_for_holds_every_layout_that_fits_and_the_control_keeps_its_own() -> None:
    on = engine("postgresql")
    assert columns_for(on, layout("uuid-v7"), ["binary16-mssql"]) == ["binary16-mssql"]
    assert columns_for(on, layout("uuid-v7"), ["uuid", "char36"]) == ["uuid", "char36"]
    assert columns_for(on, layout(CONTROL), ["binary16-mssql"]) == ["bigint"]
    check_columns(["postgresql"], ["binary16-mssql", "native", "suited"])
    with pytest.raises(UsageError, match=r"^unknown column 'binary16-mssq'\. Did you mean binary16-mssql"):
        check_columns(["postgresql", "sqlite"], ["binary16-mssq"])
    with pytest.raises(UsageError, match=r"^unknown column 'suitd'\. Did you mean suited or uuid or int\?"):
        check_columns(["postgresql"], ["suitd"])


COLUMNS = 'title = "t"\nrows = 10\nstart = 2026-01-01T00:00:00Z\n[columns]\n'


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('postgress = "uuid"\n', r"^unknown database 'postgress'\. Did you mean postgresql\?"),
        ('postgresql = ["uuid", "raw16"]\n', r"^unknown column 'raw16'\."),
    ],
)
def test_a_scenarios_columns_by_database_have_to_exist_there(text: str, said: str) -> None:
    with pytest.raises(UsageError, match=said):
        check_scenario(parse_scenario("mine", COLUMNS + text, where="mine.toml"), ["postgresql", "oracle"])


def test_a_scenarios_columns_of_databases_that_do_not_take_part_do_not_matter() -> None:
    check_scenario(parse_scenario("mine", COLUMNS + 'postgresql = "later"\n', where="mine.toml"), ["oracle"])


def test_integers_of_32_bits_go_into_a_type_of_32_bits_where_there_is_one() -> None:
    second = layout("int-identity")
    narrow = {"mssql": "int", "mysql": "int", "mariadb": "int", "postgresql": "int", "oracle": "number"}
    for database, own in {**narrow, "sqlite": "integer"}.items():
        assert columns_for(engine(database), second, []) == [own]
        assert columns_for(engine(database), second, [SUITED]) == [own]
    assert columns_for(engine("postgresql"), second, ["bigint"]) == ["bigint"]
    assert columns_for(engine("postgresql"), layout(CONTROL), ["int"]) == ["bigint"]
    assert columns_for(engine("postgresql"), layout("tsid"), ["int"]) == ["bigint"]


@pytest.mark.long
def test_they_are_measured_where_they_are_made(here: Run, tmp_path: Path) -> None:
    layouts = "server-identity,server-uuid-v4,server-uuidv7"
    done = here("--db", "postgresql,sqlite", "--server", "embedded", "--layout", layouts, *SMALL, "--writers", "2")
    assert done.returncode == 0, done.stdout + done.stderr
    trials = latest_trials(tmp_path)
    found = {(trial.database, trial.layout, trial.column) for trial in trials}
    assert found == {
        ("postgresql", "bigint-identity", "bigint"),
        ("postgresql", "server-identity", "bigint"),
        ("postgresql", "server-uuid-v4", "uuid"),
        ("postgresql", "server-uuidv7", "uuid"),
        ("sqlite", "bigint-identity", "integer"),
        ("sqlite", "server-identity", "integer"),
    }
    for trial in trials:
        assert (trial.status, trial.error) == ("ok", "")
        readings = {reading.metric: reading for reading in trial.readings if reading.subject == KEY}
        assert readings[Metric.LEAF_PAGES].value > 5
        looked_up = readings[Metric.POINT_UNIFORM_US]
        if trial.layout.startswith("server-"):
            assert (looked_up.value, looked_up.origin) == (None, "absent")
            assert looked_up.reason == (
                "The server made the keys: there is no list of them in order of arrival to choose from."
            )
        else:
            assert looked_up.value > 0


@pytest.mark.parametrize(
    ("databases", "layout", "message"),
    [
        ("mssql", "server-newsequentialid",
         "server-newsequentialid keys are made by a server, and this run has only the page model of SQL Server: "
         "take newsequentialid, which the client makes in the same way, or choose another --server."),
        ("mariadb,postgresql", "server-uuid-v4",
         "server-uuid-v4 keys are made by a server, and this run has only the page model of MariaDB and PostgreSQL: "
         "take uuid-v4, which the client makes in the same way, or choose another --server."),
    ],
)  # fmt: skip
def test_a_page_model_is_refused_before_anything_runs(
    here: Run, tmp_path: Path, databases: str, layout: str, message: str
) -> None:
    done = here("--db", databases, "--server", "model", "--layout", f"uuid-v4,{layout}")
    assert (done.returncode, done.stdout, done.stderr) == (2, "", f"keybench: {message}\n")
    assert not (tmp_path / "keybench-results.sqlite").exists()


def test_each_replica_is_a_layout_of_the_clients() -> None:
    for on in engines().values():
        for made in on.server_keys:
            assert made.replica in layouts(), made.name


ALL_AND_MODEL = ("--db", "postgresql,mssql", "--server", "postgresql=embedded", "--server", "mssql=model")


def test_all_layouts_says_which_it_leaves_out(here: Run) -> None:
    done = here(*ALL_AND_MODEL, "--layout", "all", "--rows", "100", "--dry-run")
    assert (
        "--layout all leaves out what servers make: server-identity, server-uuid-v4, server-uuidv7, server-newid, "
        "server-newsequentialid. Add those you want: --layout all,NAME."
    ) in done.stdout.splitlines()


def test_all_layouts_and_one_that_servers_make(here: Run) -> None:
    done = here(*ALL_AND_MODEL, "--layout", "all,server-identity", "--rows", "100", "--blocks", "1", "--dry-run")
    lines = done.stdout.splitlines()
    assert [line for line in lines if "server-identity ·" in line] == [
        "  block 1: postgresql · server-identity · bigint, 100 rows"
    ], "SQL Server has only its page model"
    assert sum("uuid-v7 ·" in line for line in lines) >= 2
    assert "not measured, because a page model cannot make these keys: server-identity on SQL Server" in lines
    assert "server-identity" not in next(line for line in lines if line.startswith("--layout all"))


SMALL = ("--rows", "3000", "--blocks", "1")
INSTEAD = " Choose another --scenario, or a layout whose keys the client makes."
EDITED = """
title = "t"
rows = 1000
start = 2026-01-01T00:00:00Z
"""


@pytest.mark.parametrize(
    ("layout", "database", "scenario", "message"),
    [
        ("server-uuidv7", "sqlite", "quick",
         "server-uuidv7 keys are made by mariadb and postgresql only: choose one by --db."),
        ("server-identity", "sqlite", "rates.toml",
         "server-identity keys do not fit scenario rates: its keys must carry the scenario's virtual time, and a "
         "server's keys carry the server's clock." + INSTEAD),
        ("server-identity", "sqlite", "bare.toml",
         "server-identity keys do not fit scenario bare: its rows have nothing beside the key, and rows without a "
         "key would have nothing at all." + INSTEAD),
        ("server-identity", "sqlite", "dated.toml",
         "server-identity keys do not fit scenario dated: its table has columns or rows beside the key's, and a "
         "server's keys are made row by row in one table." + INSTEAD),
    ],
)  # fmt: skip
def test_where_they_do_not_fit_the_reason_is_said(
    here: Run, tmp_path: Path, layout: str, database: str, scenario: str, message: str
) -> None:
    rates = '[[writer]]\nid = "a"\nrate = 100.0\n[[writer]]\nid = "b"\nrate = 200.0\n'
    (tmp_path / "rates.toml").write_text(EDITED + rates)
    (tmp_path / "dated.toml").write_text(EDITED + '[table]\nkey = "by-date"\n')
    (tmp_path / "bare.toml").write_text(EDITED + "[table]\npayload = 0\n")
    done = here("--db", database, "--layout", layout, "--scenario", scenario)
    assert (done.returncode, done.stderr) == (2, f"keybench: {message}\n")
    assert not (tmp_path / "keybench-results.sqlite").exists()
