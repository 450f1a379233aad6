"""Passwords by reference."""

from __future__ import annotations

import pickle
from pathlib import Path

import pytest

from keybench.databases.secret import Secret
from keybench.errors import EnvironmentMissing

PASSWORD = "correct horse\tbattery staple"


@pytest.fixture(params=["variable", "file"])
def secret(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Secret:
    if request.param == "variable":
        monkeypatch.setenv("A_PASSWORD", PASSWORD)
        return Secret(variable="A_PASSWORD")
    path = tmp_path / "password"
    path.write_text(PASSWORD + "\n", encoding="utf-8")
    return Secret(file=str(path))


def test_it_is_revealed_where_it_is_asked_for(secret: Secret) -> None:
    assert secret.reveal() == PASSWORD


@pytest.mark.parametrize("protocol", range(pickle.HIGHEST_PROTOCOL + 1))
def test_neither_print_nor_pickle_holds_it_even_once_revealed(secret: Secret, protocol: int) -> None:
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
    with pytest.raises(EnvironmentMissing) as missing:
        Secret(file=str(path)).reveal()
    assert str(missing.value) == f"the password file {path} cannot be read: No such file or directory."


def test_only_the_end_of_line_is_taken_off(tmp_path: Path) -> None:
    path = tmp_path / "password"
    path.write_text(" spaces \n", encoding="utf-8")
    assert Secret(file=str(path)).reveal() == " spaces "
