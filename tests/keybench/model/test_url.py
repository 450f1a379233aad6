"""URLs: what is understood, and what is shown of the rest."""

import pytest

from keybench.model.url import argument_without_password, hidden, parse, shown, without_password

SECRET = "S3CR3T"
ISSUE = [  # from 5,600 malformed URLs, of which some ended in a traceback or showed the password
    "mariadb://me:p@S3CR3T@127.0.0.1:99999999999999999999/a",
    "mysql://me:S3CR3T[256.256.256.256:9/x",
    "postgresql+psyc opg://me:S3CR3T:x127.0.0.1:-1/db",
    "mssql://тест.invalid:1,2/S3CR3T:x@",
    "postgres://a..b:1/db",
]
MALFORMED = [
    *ISSUE,
    "postgresql://me:S3CR3T@h:65536/d",
    "postgresql://me:S3CR3T@h:port/d",
    "postgresql://me:S3CR/3T@h/d",
    "postgresql://me:123/S3CR3T@h/d",
    "postgresql://me:123?S3CR3T@h/d",
    "postgresql://me:123#S3CR3T@h/d",
    "postgresql://me:S3 CR3T@h/d",
    "postgresql://me:S3CR3T%zz@h/d",
    "postgresql://me:S3CR3T%00@h/d",
    "postgresql://me:S3CR3T\0@h/d",
    "postgresql://me:S3CR3T\udcff@h/d",
    "postgresql://me:S3CR3T@[::1/d",
    "postgresql://me:S3CR3T@h/d\n",
    "postgresql://me:S3CR3T@" + "h" * 64,
    "mssql://h?password=S3CR3T?x",
    "me:S3CR3T@h://",
    "://S3CR3T",
    "sql server://S3CR3T",
]


def test_the_parts_are_as_they_are_written() -> None:
    url = parse("postgresql+psycopg://a%40b:p%2Fw:,@h1:77,[::1]:5,%2Frun/d%20b?sslmode=require&x=a%20b@c")
    assert (url.scheme, url.user, url.password) == ("postgresql+psycopg", "a%40b", "p%2Fw:,")
    assert (url.hosts, url.path) == ("h1:77,[::1]:5,%2Frun", "/d%20b")
    assert url.options == (("sslmode", "require"), ("x", "a%20b@c"))
    assert "p%2Fw" not in repr(url)
    assert "require" not in repr(url)
    bare = parse("mssql://тест.invalid")
    assert (bare.user, bare.password, bare.hosts, bare.path, bare.options) == ("", "", "тест.invalid", "", ())


@pytest.mark.parametrize("text", MALFORMED)
def test_of_what_has_not_the_form_the_scheme_alone_is_shown(text: str) -> None:
    scheme = text.partition("://")[0] if text.partition("://")[0].replace("sql", "").isalpha() else "…"
    assert parse(text) is None
    assert shown(text) == without_password(text)
    assert shown(text) in {f"{scheme}://…", f"{text.partition(':')[0]}://…", "…://…"}
    assert SECRET not in hidden(f"a message with {text} and {text!r}", ["--server", text])


@pytest.mark.parametrize(
    ("given", "stored", "shown_as"),
    [
        ("postgresql://me:horse@h:5432/d", "postgresql://me@h:5432/d", "postgresql://me@h:5432/d"),
        ("postgresql://me@h/d?password=horse", "postgresql://me@h/d", "postgresql://me@h/d?…"),
        ("postgresql://me@h/d?password=horse&host=/s", "postgresql://me@h/d?host=/s", "postgresql://me@h/d?…"),
        ("postgresql://me@h/d?host=/s&sslpassword=horse", "postgresql://me@h/d?host=/s", "postgresql://me@h/d?…"),
        ("mariadb://me@h?passwd=horse&ssl_ca=c", "mariadb://me@h?ssl_ca=c", "mariadb://me@h?…"),
        ("postgresql://:horse@h/d", "postgresql://h/d", "postgresql://h/d"),
        ("postgresql://h:5432/d", "postgresql://h:5432/d", "postgresql://h:5432/d"),
        ("mysql://me:ho/rse@h@h:3306", "mysql://…", "mysql://…"),
        ("local", "local", "local"),
    ],
)
def test_what_is_stored_and_shown_holds_no_password(given: str, stored: str, shown_as: str) -> None:
    assert without_password(given) == stored
    assert shown(given) == shown_as
    assert argument_without_password(f"--server={given}") == f"--server={stored}"
    assert argument_without_password(f"--server=postgresql={given}") == f"--server=postgresql={stored}"
    assert argument_without_password(given) == stored


def test_a_message_is_freed_from_what_the_user_gave() -> None:
    given = ["run", "--rows=postgresql://me:S3 CR3T@h/d", "mysql:/me:S3CR3T@h", "--layout", "a@b"]
    assert hidden("rows: 'postgresql://me:S3 CR3T@h/d'", given) == "rows: 'postgresql://…'"
    assert hidden("unexpected argument mysql:/me:S3CR3T@h", given) == "unexpected argument …"
    assert hidden("unknown layout 'a@b'", given) == "unknown layout 'a@b'"
    given = ["--image", "mysql://me:S3\tCR3T@h:1,2/d"]
    assert hidden("--image mysql://me:S3\tCR3T@h:1: write", given) == "--image mysql://…: write"
    given = ["mssql://h?password=S3,\nCR3T"]
    assert hidden("unexpected (mssql://h?password=S3,\\x0aCR3T)", given) == "unexpected (mssql://…)"
    assert hidden("no file mysql:/me@h/d?x=S3CR3T", ["mysql://me@h/d?x=S3CR3T"]) == "no file mysql://me@h/d?…"
    assert hidden("no file h:1/a?x=S3CR3T", ["sqlite://h:1//a?x=S3CR3T"]) == "no file sqlite://h:1//a?…"
    assert hidden("2/d and CR3T,x@h", ["mysql://me:S3,CR3T,x@h"]) == "2/d and CR3T,…"
    assert hidden("at mysql://me:S3CR3T@h/x: no", []) == "at mysql://me@h/x: no"
    assert hidden("write mysql://user@host:1, with XX", []) == "write mysql://user@host:1, with XX"


def test_a_long_text_takes_no_long_time() -> None:
    long = "a" * 100_000 + ":" * 100_000 + "a://:" * 20_000
    assert hidden(long, [long]) != ""
