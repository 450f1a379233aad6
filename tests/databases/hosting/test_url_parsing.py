"""URLs of users' own servers, and the error for a server that cannot be reached."""

from dataclasses import replace

import pytest

from keybench.databases.contract.roles import Address, Secret
from keybench.databases.hosting.url_server import UrlForm, unreachable
from keybench.errors import EnvironmentMissing, ServerError, UsageError
from tests.errors import raised

FORM = UrlForm("Some DB", "some://user@host:1/name", frozenset({"colour", "unix_socket"}))


def test_the_parts_are_decoded_and_the_password_is_not_shown() -> None:
    url = FORM.parse("some://a%40b:p%2Fw@h:77/the%20name/?colour=red")
    assert (url.host, url.port, url.user, url.path, url.options) == ("h", "77", "a@b", "the name", {"colour": "red"})
    assert url.password == "p/w"
    assert "p/w" not in repr(url)
    assert FORM.parse("some://a:first@h?password=second").password == "second"
    assert FORM.parse("some://h").port == ""


def test_a_socket_replaces_the_host_if_the_database_has_sockets() -> None:
    assert FORM.parse("some://me@?unix_socket=/run/s").options == {"unix_socket": "/run/s"}
    with pytest.raises(UsageError, match="cannot be understood"):
        replace(FORM, options=frozenset()).parse("some://me@?unix_socket=/run/s")


@pytest.mark.parametrize("wrong", ["some://", "some://me:s3cret@[::1/x", "some://h:port"])
def test_a_url_that_cannot_be_understood_is_not_repeated(wrong: str) -> None:
    assert raised(UsageError, FORM.parse, wrong) == (
        "the Some DB URL cannot be understood: write some://user@host:1/name, special characters in user and password "
        "as %XX."
    )


def test_unknown_options_are_refused() -> None:
    with pytest.raises(UsageError, match=r"^Some DB URL: unknown option size\. Known: colour, unix_socket\.$"):
        FORM.parse("some://h?size=1")


@pytest.mark.parametrize("password", ["s3cret", "s3cret.", "s3cret. "])
def test_the_error_of_a_failed_connection_hides_the_password(monkeypatch: pytest.MonkeyPatch, password: str) -> None:
    monkeypatch.setenv("THE_PASSWORD", password)
    address = Address("some", "url", {}, secret=Secret(variable="THE_PASSWORD"))
    error = unreachable(address, "Some DB", "h:1", f"login failed with {password}", "host and password")
    assert isinstance(error, EnvironmentMissing)
    assert str(error) == (
        "Some DB at h:1 cannot be reached: login failed with ***.\n"
        "Check host and password in the URL, and that the server is up."
    )
    private = unreachable(replace(address, server="local"), "Some DB", "h:1", "it is gone.", "host")
    assert isinstance(private, ServerError)
    assert str(private) == "the Some DB server of this run does not answer: it is gone."
