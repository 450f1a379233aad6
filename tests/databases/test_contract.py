"""The contract of engines: columns by name and by rule, and the registry; an engine from another
distribution is measured in tests/runners/trials/test_load_paths.py."""

import pickle
from typing import NoReturn, get_args

import numpy as np
import pytest

from keybench.databases import registry
from keybench.databases.contract.engine import Engine
from keybench.databases.contract.roles import Address, Admin, Provision, Secret, Session, Settings
from keybench.databases.contract.settings import CacheSize, Profile
from keybench.databases.registry import engine, engines
from keybench.errors import UsageError
from keybench.model.column import Column
from keybench.model.keys import Kind, Order
from keybench.model.metric import Metric
from keybench.model.table import KeyRole, Table
from tests.errors import raised

GUID: frozenset[Kind] = frozenset({"uuid"})


class Declared(Engine):
    """An engine that consists only of its declaration."""

    def settings(self, profile: Profile, cache: CacheSize) -> Settings:
        return Settings(profile, 1, {})

    def missing(self, server: str) -> str:
        return ""

    def provision(self, server: str, settings: Settings) -> Provision:
        self._never()

    def admin(self, address: Address) -> Admin:
        self._never()

    def session(self, address: Address, table: Table) -> Session:
        self._never()

    def bytes_per_row(self, column: Column, payload: int, key: KeyRole) -> tuple[float, float]:
        return (1.0, 1.0)

    def _never(self) -> NoReturn:
        raise AssertionError("no server in these tests")


def declared(*columns: Column) -> Engine:
    return Declared("declared", "Declared", columns, ("embedded",))


def column(name: str, order: Order, *, native: bool = False, stands_in_for: str = "") -> Column:
    return Column(name, "T", GUID, order, native=native, stands_in_for=stands_in_for)


def test_the_native_column_is_the_default() -> None:
    on = declared(column("a", "net"), column("b", "rfc"), column("c", "rfc", native=True))
    assert on.default_column("uuid").name == "c"


def test_the_first_column_is_the_default_where_none_is_native() -> None:
    on = declared(Column("number", "T", frozenset({"int"}), "rfc", "int", native=True), column("a", "net"))
    assert on.default_column("uuid").name == "a"


def test_a_stand_in_is_never_chosen_by_itself() -> None:
    stand_in = column("stand-in", "mssql", stands_in_for="SQL Server uniqueidentifier")
    assert declared(stand_in, column("a", "rfc")).default_column("uuid").name == "a"
    assert declared(column("a", "rfc"), stand_in).column("stand-in") == stand_in
    with pytest.raises(UsageError, match=r"^declared has no column for uuid keys\.$"):
        declared(stand_in).default_column("uuid")


def bits(**fixed: str) -> tuple[np.ndarray, np.ndarray]:
    """The bits that all GUIDs share, by byte: r6="0111____" fixes the first four bits of the seventh byte."""
    mask, value = np.zeros(128, np.bool_), np.zeros(128, np.uint8)
    for name, pattern in fixed.items():
        for place, bit in enumerate(pattern, 8 * int(name[1:])):
            mask[place], value[place] = bit != "_", bit == "1"
    return mask, value


@pytest.mark.parametrize(
    ("fixed", "chosen"),
    [
        (bits(), "b"),
        (bits(r6="0111____"), "a"),
        (bits(r6="1000____", r8="10______"), "b"),  # version 8, whose ninth byte may be 0x80
        (bits(r6="1000____", r8="11______"), "a"),
        (bits(r6="1000____", r8="00000000"), "a"),
        (bits(r8="0000000_"), "b"),
        (None, "a"),
    ],
)
def test_a_column_that_may_refuse_keys_is_not_the_default(fixed, chosen: str) -> None:
    on = declared(column("a", "mariadb", native=True), column("b", "rfc"))
    assert on.default_column("uuid", fixed).name == chosen
    assert declared(column("a", "mariadb")).default_column("uuid", fixed).name == "a"  # there is no other


def test_an_engine_without_a_page_model_says_so() -> None:
    on = declared(column("a", "rfc"))
    assert raised(UsageError, on.page_model, Table("t", on.columns[0], 0)) == (
        "there is no page model of Declared: measure on a server, or choose another database."
    )


def test_an_engine_refuses_a_load_path_that_it_does_not_have() -> None:
    on = declared(column("a", "rfc"))
    assert on.refuses("rows", "embedded") == ""
    assert on.refuses("bulk", "embedded") == "Declared does not load so: choose another database by --db."


def test_an_unknown_column_lists_close_ones() -> None:
    on = declared(column("binary16", "rfc"), column("char36", "rfc"))
    said = raised(UsageError, on.column, "binary-16")
    assert said == "unknown declared column 'binary-16'. Did you mean binary16? Known: binary16, char36."
    with pytest.raises(UsageError, match=r"^unknown declared column 'zzz'\. Known: binary16, char36\.$"):
        on.column("zzz")


@pytest.mark.parametrize(
    ("alias", "name"),
    [("sqlserver", "mssql"), ("azuresql", "mssql"), ("postgres", "postgresql"), ("pg", "postgresql"),
     ("mysql8", "mysql"), ("mysql", "mysql")],
)  # fmt: skip
def test_an_engine_is_found_by_the_names_that_people_use(alias: str, name: str) -> None:
    assert engine(alias).name == name


def test_an_unknown_database_lists_close_ones() -> None:
    known = ", ".join(sorted(engines()))
    said = raised(UsageError, engine, "postgress")
    assert said == f"unknown database 'postgress'. Did you mean postgresql? Known: {known}."


@pytest.mark.parametrize("name", ["postgresql", "sqlite", "mssql", "oracle"])
def test_what_every_engine_here_declares(name: str) -> None:
    on = engine(name)
    names = [column.name for column in on.columns]
    assert len(names) == len(set(names))
    stand_ins = [column for column in on.columns if column.stands_in_for]
    assert [(column.name, column.order) for column in stand_ins] == [("binary16-mssql", "mssql")]
    for kind in get_args(Kind):
        assert [column for column in on.columns if column.native and kind in column.kinds]
        assert not on.default_column(kind).stands_in_for
    assert all(column.order != "none" for column in on.columns)
    assert set(on.absent) <= set(Metric)
    assert all(reason.endswith(".") for reason in on.absent.values())
    for made in on.server_keys:
        assert made.name.startswith("server-")
        assert made.order in {"none", on.column(made.column).order}
    assert len({made.name for made in on.server_keys}) == len(on.server_keys)


@pytest.mark.parametrize("name", ["postgresql", "sqlite"])
@pytest.mark.parametrize("cache", get_args(CacheSize))
@pytest.mark.parametrize("profile", get_args(Profile))
def test_settings_are_fixed_by_profile_and_cache(name: str, profile: Profile, cache: CacheSize) -> None:
    on = engine(name)
    settings = on.settings(profile, cache)
    assert settings == on.settings(profile, cache)
    assert settings.profile == profile
    assert on.settings(profile, "small").cache_bytes < on.settings(profile, "default").cache_bytes
    assert on.settings("durable", cache).values != on.settings("fast", cache).values


@pytest.mark.parametrize("name", ["postgresql", "sqlite"])
@pytest.mark.parametrize("key", get_args(KeyRole))
def test_estimates_grow_with_the_payload_and_the_whole_is_no_less_than_the_index(name: str, key: KeyRole) -> None:
    on = engine(name)
    for column in on.columns:
        sizes = [on.bytes_per_row(column, payload, key) for payload in (0, 1, 100, 1000, 5000)]
        wholes = [whole for _, whole in sizes]
        assert wholes == sorted(wholes)
        assert all(0 < index <= whole for index, whole in sizes)


def test_an_address_is_picklable_and_safe_to_print(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("THE_PASSWORD", "correct horse")
    address = Address("postgresql", "url", {"host": "example.org"}, secret=Secret(variable="THE_PASSWORD"))
    again = pickle.loads(pickle.dumps(address))
    assert again == address
    assert again.secret.reveal() == "correct horse"
    assert b"correct horse" not in pickle.dumps(address)
    assert "correct horse" not in repr(address)


def test_two_engines_of_one_name_and_something_else_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    for found, message in (
        (engine("sqlite"), "two engines are called 'sqlite'; the second is in other_engine: rename one."),
        ("steam", "other_engine.ENGINE is 'steam', which is no Engine."),
    ):
        both = [("own", engine("sqlite")), ("other_engine", found)]
        monkeypatch.setattr(registry, "discover", lambda *_, both=both, **__: both)
        assert raised(UsageError, engines.__wrapped__) == message
