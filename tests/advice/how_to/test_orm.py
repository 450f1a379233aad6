"""The mappings of ORMs: which keys have one, what stands in it, and what is said where there is none."""

import json

import pytest

from keybench.advice.answer import answer
from keybench.advice.command import _text
from keybench.advice.how_to.libraries import languages
from keybench.advice.how_to.orm import Snippet, orms, snippet
from keybench.advice.needs import USUAL, needs
from keybench.databases.registry import engine, engines
from keybench.errors import UsageError
from tests.errors import raised


def of(name: str, database: str, column: str, key: str, *, by_server: bool = False) -> Snippet:
    on = engine(database)
    return snippet(orms()[name], on, list(on.versions)[-1], on.column(column), key, by_server=by_server)


@pytest.mark.parametrize(
    ("database", "column", "key", "without"),
    [("postgresql", "uuid", "uuid-v7", []), ("postgresql", "bigint", "bigint-identity", []),
     ("mariadb", "uuid", "uuid-v7", ["rails"]), ("mariadb", "bigint", "bigint-identity", []),
     ("mysql", "binary16", "uuid-v7", []), ("mysql", "bigint", "bigint-identity", []),
     ("sqlite", "binary16", "uuid-v7", []), ("sqlite", "integer", "bigint-identity", []),
     ("mssql", "uniqueidentifier", "rt-comb-sql", ["rails"]), ("mssql", "bigint", "bigint-identity", []),
     ("oracle", "raw16", "uuid-v7", ["go", "laravel", "rails", "typeorm"]),
     ("oracle", "number", "bigint-identity", [])],
)  # fmt: skip
def test_each_orm_has_a_mapping_of_the_usual_keys(database: str, column: str, key: str, without: list[str]) -> None:
    knows = [name for name, orm in orms().items() if not orm.databases or database in orm.databases]
    shown = {name: of(name, database, column, key, by_server=key == "bigint-identity") for name in knows}
    assert [name for name in knows if not shown[name].code] == without
    assert not any("{{" in one.code for one in shown.values())
    assert all(one.notes[0].startswith("Trap: ") == bool(one.code) for one in shown.values())


def test_the_words_of_the_files_are_known() -> None:
    columns = {column.name for on in engines().values() for column in on.columns}
    for orm in orms().values():
        assert orm.language in languages()
        for entry in orm.mapping:
            assert {*orm.databases, *entry.databases, *entry.run, *entry.trap_on} <= engines().keys()
            assert {*entry.columns} <= columns


def test_the_key_is_that_of_the_library_or_of_the_server() -> None:
    trap, key, page = of("django", "postgresql", "uuid", "uuid-v7").notes
    assert trap.startswith("Trap: default=uuid.uuid4, as in Django's own example, is random.")
    assert key == (
        "Key: uuid.uuid7() of uuid (standard library) 3.14; or uuid_utils.compat.uuid7() of uuid-utils 1.2.0 "
        "(pip install uuid-utils)"
    )
    assert page.startswith("Rests on (keybench's tests run it): https://docs.djangoproject.com/")
    assert 'RawSQL("uuidv7()", [])' in of("django", "postgresql", "uuid", "uuid-v7", by_server=True).code
    assert "=> Provider.Sql.Create();" in of("efcore", "mssql", "uniqueidentifier", "rt-comb-sql").code
    assert "ValueGenerator" not in of("efcore", "mssql", "uniqueidentifier", "efcore-sequential").code
    by_server = of("efcore", "mssql", "uniqueidentifier", "newsequentialid", by_server=True)
    assert 'HasDefaultValueSql("NEWSEQUENTIALID()")' in by_server.code


def test_where_there_is_no_mapping_the_way_out_is_told() -> None:
    begin = "keybench has no mapping of such a key for Rails: create the table by the SQL above, and "
    alone = of("rails", "mssql", "uniqueidentifier", "rt-comb-sql")
    assert alone.notes == (f"{begin}let the server make it (--made-by server).",)
    assert of("rails", "mariadb", "uuid", "uuid-v7", by_server=True).notes == (
        f"{begin}give each new row its key before it is saved.",
        "Key: SecureRandom.uuid_v7 of securerandom (standard library) 3.4",
    )
    elsewhere = of("npgsql", "mysql", "bigint", "bigint-identity", by_server=True)
    assert elsewhere.notes == ("Npgsql does not know MySQL, only postgresql.",)
    said = raised(UsageError, needs, {**USUAL, "db": "sqlite", "rows": "20000", "orm": "djanggo"})
    assert said.startswith("unknown ORM 'djanggo'. Did you mean django? Known: dapper, django, efcore, ")


def test_an_answer_has_the_mapping_in_place_of_the_library_calls() -> None:
    shown = answer(needs({**USUAL, "db": "sqlite", "rows": "20000", "type": "uuid", "orm": "sqlalchemy"}))
    text, page, as_json = (_text(shown, form, everything=True) for form in ("text", "html", "json"))
    content = json.loads(as_json)
    assert content["calls"] == []
    assert "\n".join([content["mapping"]["code"], *content["mapping"]["notes"]]) in text
    assert text.index("CREATE TABLE orders") < text.index("\nSQLAlchemy 2.1:\n") < text.index("To measure: ")
    assert content["mapping"]["code"] in _text(shown, "text", everything=False)
    assert "<h2>SQLAlchemy 2.1</h2>" in page
    assert "class UUID16(TypeDecorator):" in page


def test_a_default_of_several_lines_is_whole() -> None:
    uuid = engine("mariadb").column("uuid")
    code = snippet(orms()["sqlalchemy"], engine("mariadb"), "10.11", uuid, "uuid-v7", by_server=True).code
    assert 'text("(CONCAT( RIGHT(LPAD(HEX(' in code
    assert 'HEX(RANDOM_BYTES(7))))"' in code
