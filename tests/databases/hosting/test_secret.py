"""Passwords by reference."""

import os
import pickle
from pathlib import Path

import pytest

from keybench.databases.contract.roles import Secret
from keybench.databases.hosting.secret import from_url, removed_afterwards
from keybench.errors import EnvironmentMissing
from tests.errors import raised

PASSWORD = "correct horse\tbattery staple"


@pytest.fixture(params=["variable", "file"])
def secret(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Secret:
    if request.param == "variable":
        monkeypatch.setenv("A_PASSWORD", PASSWORD)
        return Secret(variable="A_PASSWORD")
    path = tmp_path / "password"
    path.write_text(PASSWORD + "\n", encoding="utf-8")
    return Secret(file=str(path))


def test_reveal_returns_the_password(secret: Secret) -> None:
    assert secret.reveal() == PASSWORD


@pytest.mark.parametrize("protocol", range(pickle.HIGHEST_PROTOCOL + 1))
def test_neither_repr_nor_pickle_holds_it_even_after_reveal(secret: Secret, protocol: int) -> None:
    secret.reveal()
    for text in (repr(secret), str(secret), f"{secret}", repr(vars(secret))):
        assert "horse" not in text
    pickled = pickle.dumps(secret, protocol)
    assert b"horse" not in pickled
    assert pickle.loads(pickled) == secret
    assert pickle.loads(pickled).reveal() == PASSWORD


def test_a_variable_that_is_not_set(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("A_PASSWORD", raising=False)
    with pytest.raises(EnvironmentMissing, match=r"^the password variable A_PASSWORD is not set: export it\.$"):
        Secret(variable="A_PASSWORD").reveal()


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    path = tmp_path / "none"
    said = raised(EnvironmentMissing, Secret(file=str(path)).reveal)
    assert said == f"the password file {path} cannot be read: No such file or directory."


def test_only_the_end_of_line_is_removed(tmp_path: Path) -> None:
    path = tmp_path / "password"
    path.write_text(" spaces \n", encoding="utf-8")
    assert Secret(file=str(path)).reveal() == " spaces "


def test_a_password_in_the_url_overrides_the_environment(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.delenv("KEYBENCH_PASSWORD", raising=False)
    monkeypatch.delenv("KEYBENCH_PASSWORD_FILE", raising=False)
    assert from_url("") is None
    monkeypatch.setenv("KEYBENCH_PASSWORD_FILE", str(tmp_path / "password"))
    assert from_url("") == Secret(file=str(tmp_path / "password"))
    monkeypatch.setenv("KEYBENCH_PASSWORD", PASSWORD)
    assert from_url("") == Secret(variable="KEYBENCH_PASSWORD")
    own = from_url("of the url")
    assert own.reveal() == "of the url"


@pytest.mark.parametrize("content", [b"\xff\xfe", b"caf\xe9\n"])
def test_a_password_that_is_no_text_is_named_by_its_place(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, content: bytes
) -> None:
    file = tmp_path / "password"
    file.write_bytes(content)
    said = raised(EnvironmentMissing, Secret(file=str(file)).reveal)
    assert said == f"the password file {file} is no text in UTF-8: correct it."
    monkeypatch.setenv("A_PASSWORD", os.fsdecode(content))
    said = raised(EnvironmentMissing, Secret(variable="A_PASSWORD").reveal)
    assert said == "the password variable A_PASSWORD is no text in UTF-8: correct it."


def test_a_command_removes_its_passwords_when_it_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KEYBENCH_PASSWORD", PASSWORD)
    before = dict(os.environ)
    with removed_afterwards():
        own = from_url("of a url that no other test has")
        assert own.reveal() == "of a url that no other test has"
        assert dict(os.environ) != before
    assert dict(os.environ) == before
