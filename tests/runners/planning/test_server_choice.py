"""Which server each database of a run uses, its settings, and what is said where one cannot be had."""

import pytest

from keybench.databases.registry import engine, engines
from keybench.errors import EnvironmentMissing, UsageError
from keybench.runners.planning.server_choice import (
    check_settings,
    read_settings,
    reasons_of_auto,
    resolve,
    with_settings_chosen,
)
from keybench.scenarios.files import load_scenario
from keybench.scenarios.schema import Scenario, scenario_of
from tests.errors import raised

NO_DOCKER = "unix:///nonexistent/docker.sock"


@pytest.fixture(autouse=True)
def without_docker(monkeypatch: pytest.MonkeyPatch) -> None:
    """No daemon answers."""
    monkeypatch.setenv("DOCKER_HOST", NO_DOCKER)


def test_the_reason_of_each_database_without_a_server_is_given_once() -> None:
    lines = raised(EnvironmentMissing, resolve, ("mssql", "oracle", "sqlite"), ()).splitlines()
    assert [line for line in lines if not line.startswith(" ")] == [
        "no SQL Server server can be started here:",
        "no Oracle server can be started here:",
    ]
    assert f"no daemon answers at {NO_DOCKER}" in lines[1]
    assert lines.count("  without any server: --server model predicts the pages") == 2


def test_a_kind_that_one_of_the_databases_does_not_have() -> None:
    assert raised(UsageError, resolve, ("sqlite", "mssql", "oracle"), ("embedded",)).splitlines() == [
        f"{name} has no server kind 'embedded' (it has: container, model, auto, or a URL). For one database only: "
        f"--server {name}=KIND."
        for name in ("mssql", "oracle")
    ]


def test_a_url_is_not_shown_again() -> None:
    assert "S3CR3T" not in raised(EnvironmentMissing, resolve, ("postgresql", "mssql"), ("postgresql://me:S3CR3T@h/x",))


def test_one_database_alone_is_told_its_own_reason() -> None:
    assert raised(EnvironmentMissing, resolve, ("oracle",), ("container",)) == engine("oracle").missing("container")


QUICK = load_scenario("quick")


def chosen(
    *texts: str, databases: tuple[str, ...] = ("mariadb", "sqlite"), scenario: Scenario = QUICK
) -> dict[str, str]:
    found = with_settings_chosen(scenario, databases, read_settings(texts))
    return dict(found.server.settings)


@pytest.mark.parametrize(
    ("texts", "settings"),
    [
        ((), {}),
        (("page_size=8K",), {"mariadb.page_size": "8K", "sqlite.page_size": "8K"}),
        (("page_size=8k",), {"mariadb.page_size": "8K", "sqlite.page_size": "8K"}),
        ((" page_size = 8192 ",), {"mariadb.page_size": "8K", "sqlite.page_size": "8K"}),
        (("mariadb.page_size=64K",), {"mariadb.page_size": "64K"}),
        (("page_size=4K", "mariadb.page_size=64K"), {"mariadb.page_size": "64K", "sqlite.page_size": "4K"}),
        (("mariadb.page_size=64K", "page_size=4K"), {"mariadb.page_size": "64K", "sqlite.page_size": "4K"}),
        (("merge_threshold=040",), {"mariadb.merge_threshold": "40"}),
        (("page_size=4K", "page_size=8K"), {"mariadb.page_size": "8K", "sqlite.page_size": "8K"}),
        (("sqlite.page_size=512",), {"sqlite.page_size": "512"}),
    ],
)
def test_a_name_is_that_of_every_database_that_has_it(texts, settings) -> None:
    assert chosen(*texts) == settings


def test_the_command_line_comes_before_the_scenario() -> None:
    scenario = QUICK.with_settings({"page_size": "4K", "mariadb.merge_threshold": "30"})
    assert chosen("mariadb.page_size=8K", scenario=scenario) == {
        "mariadb.page_size": "8K",
        "sqlite.page_size": "4K",
        "mariadb.merge_threshold": "30",
    }
    assert chosen("page_size=16K", scenario=scenario)["sqlite.page_size"] == "16K"


def test_scenarios_take_numbers_and_text() -> None:
    content = QUICK.model_dump() | {"server": {"settings": {"merge_threshold": 30, "page_size": "8K"}}}
    read = scenario_of(content, strict=False)
    assert chosen(scenario=read) == {
        "mariadb.merge_threshold": "30",
        "mariadb.page_size": "8K",
        "sqlite.page_size": "8K",
    }


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("page_size", "--set page_size: write NAME=VALUE or DB.NAME=VALUE, as in --set page_size=8K."),
        ("=8K", "--set =8K: write NAME=VALUE or DB.NAME=VALUE, as in --set page_size=8K."),
        ("page_size=", "--set page_size=: write NAME=VALUE or DB.NAME=VALUE, as in --set page_size=8K."),
        ("pagesize=8K",
         "unknown setting of mariadb or sqlite 'pagesize'. Did you mean page_size? "
         "Known: checkpoint, merge_threshold, page_size."),
        ("sqlite.merge_threshold=3",
         "unknown setting of mariadb or sqlite 'sqlite.merge_threshold'. Did you mean mariadb.merge_threshold or "
         "sqlite.page_size? Known: mariadb.checkpoint, mariadb.merge_threshold, mariadb.page_size, "
         "sqlite.page_size."),
        ("oracle.unique=no",
         "unknown setting of mariadb or sqlite 'oracle.unique'. Known: mariadb.checkpoint, mariadb.merge_threshold, "
         "mariadb.page_size, sqlite.page_size."),
        ("mariadb.page_size=2K", "page_size of mariadb is one of 4K, 8K, 16K, 32K, 64K, not '2K'."),
        ("mariadb.page_size=8KiB", "page_size of mariadb is one of 4K, 8K, 16K, 32K, 64K, not '8KiB'."),
        ("merge_threshold=51", "merge_threshold of mariadb is a whole number from 1 to 50, not '51'."),
        ("merge_threshold=-1", "merge_threshold of mariadb is a whole number from 1 to 50, not '-1'."),
        ("merge_threshold=٤", "merge_threshold of mariadb is a whole number from 1 to 50, not '٤'."),
        ("page_size=" + "9" * 500, f"page_size of mariadb is one of 4K, 8K, 16K, 32K, 64K, not '{'9' * 99}…."),
    ],
)  # fmt: skip
def test_each_bad_setting_has_its_message(text: str, message: str) -> None:
    assert raised(UsageError, chosen, text) == message


def test_a_server_that_has_another_value_is_refused() -> None:
    on = engine("mariadb")
    check_settings(on, {"page_size": "8K", "merge_threshold": "30"}, {"page_size": "8K", "unique_checks": "ON"})
    check_settings(on, {}, {"page_size": "8K"})
    assert raised(UsageError, check_settings, on, {"page_size": "8K"}, {"page_size": "4K"}) == (
        "--set page_size=8K: this MariaDB server has page_size = 4K, which keybench does not change. Leave the setting "
        "out, or measure on a server that keybench starts."
    )


@pytest.mark.parametrize("name", engines())
def test_every_declared_default_is_one_of_its_values(name: str) -> None:
    on = engine(name)
    assert len({setting.name for setting in on.settable}) == len(on.settable)
    for setting in on.settable:
        assert setting.read(setting.default, name) == setting.default
        assert "." not in setting.name


def test_auto_says_which_server_it_takes_and_why() -> None:
    both = ("postgresql", "sqlite")  # of SQLite there is one kind
    (said,) = reasons_of_auto(both, ("auto",))
    assert said.startswith(
        f"PostgreSQL: --server {resolve(both, ('auto',))['postgresql']}, the first that starts here (PostgreSQL in a "
        f"container needs Docker, and no daemon answers at {NO_DOCKER}"
    )
    assert reasons_of_auto(both, ("embedded",)) == []
