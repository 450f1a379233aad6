"""Which layouts are in columns that suit them: table, and the group of default and suiting columns."""

from dataclasses import asdict, replace

from keybench.model.column import Pairing
from keybench.results.analysis.groups import Group, group_trials
from keybench.results.report.tables import column_table
from keybench.results.store.records import Run
from tests.results.conftest import a_run, trials

PAIRINGS = {
    "bigint-identity": Pairing("bigint", "bigint", True, ("bigint",)),
    "uuid-v4": Pairing("uniqueidentifier", "", False, ()),
    "uuid-v7": Pairing("uniqueidentifier", "binary16", True, ("binary16", "char36")),
    "rt-comb-sql": Pairing("uniqueidentifier", "uniqueidentifier", True, ("uniqueidentifier", "binary16-mssql")),
    "mysql-uuid": Pairing("uniqueidentifier", "", True, ()),
}


def run(*columns: str, pairings: bool = True) -> Run:
    recorded = {name: {**asdict(pair), "suiting": list(pair.suiting)} for name, pair in PAIRINGS.items()}
    definition = {"titles": {"postgresql": "SQL Server"}, "columns": list(columns)}
    return replace(a_run(), definition={**definition, **({"pairings": {"postgresql": recorded}} if pairings else {})})


def groups(of: Run, *arms: tuple[str, str]) -> list[Group]:
    made = [
        replace(trial, layout=name, column=column, series=(), blobs=())
        for name, column in arms
        for trial in trials(("uuid-v4",), ("postgresql",), 1, 1000, (100,), after=False)
    ]
    return group_trials(of, made, [])


DEFAULT = (("bigint-identity", "bigint"), *((name, "uniqueidentifier") for name in list(PAIRINGS)[1:]))


def test_default_and_suiting_columns_are_one_group_where_they_were_asked_for() -> None:
    (group,) = groups(run("suited"), *DEFAULT, ("uuid-v7", "binary16"))
    assert len(group.arms) == 6
    split = groups(run("native", "binary16"), *DEFAULT, ("uuid-v7", "binary16"))
    assert [group.column for group in split] == ["binary16", "uniqueidentifier"]


def test_other_columns_beside_the_suiting_ones_are_groups_of_their_own() -> None:
    found = groups(run("suited", "char36"), *DEFAULT, ("uuid-v7", "binary16"), ("uuid-v7", "char36"))
    assert [(group.column, len(group.treatments)) for group in found] == [
        ("default and suiting columns", 5),
        ("char36", 1),
    ]
    assert all(group.control for group in found)


def test_the_table_says_for_each_arm_which_column_suits() -> None:
    (group,) = groups(run("suited"), *DEFAULT, ("uuid-v7", "binary16"))
    table = column_table(group)
    suits, suiting = ([cell.text for cell in column.cells] for column in table.columns)
    found = dict(zip([arm.name for arm in group.arms], zip(suits, suiting, strict=True), strict=True))
    assert found == {
        "bigint-identity · bigint": ("yes", "bigint"),
        "uuid-v4 · uniqueidentifier": ("no order", "–"),
        "uuid-v7 · uniqueidentifier": ("no", "binary16"),
        "uuid-v7 · binary16": ("yes", "binary16"),
        "rt-comb-sql · uniqueidentifier": ("yes", "uniqueidentifier"),
        "mysql-uuid · uniqueidentifier": ("no", "none"),
    }
