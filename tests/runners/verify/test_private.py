"""What a file that is sent away does not hold."""

from __future__ import annotations

from pathlib import Path

import pytest

from keybench.runners.verify.private import Private, line_without_times


def test_places_passwords_and_hosts_are_replaced(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    password = tmp_path / "password"
    password.write_text("from-a-file-7\n", encoding="utf-8")
    monkeypatch.setenv("HOME", "/home/jo")
    monkeypatch.setenv("KEYBENCH_PASSWORD_FILE", str(password))
    monkeypatch.setenv("KEYBENCH_PASSWORD_1", "of-a-url-8")
    monkeypatch.chdir("/")
    private = Private(["container", "postgresql://me@db.example:5432/bench", "mssql://sa@[fe80::1]:1433"])
    assert (
        private.text(
            '/home/jo/x /home/john /home/jo: "/home/jo" from-a-file-7 of-a-url-8 me@db.example:5432 db.example '
            "mydb.example"
        )
        == '~/x /home/john ~: "~" *** *** user@host host mydb.example'
    )
    assert private.text("postgresql://me@db.example:5432/bench") == "postgresql://user@host/bench"
    assert private.text("mssql://sa@[fe80::1]:1433") == "mssql://user@host"
    assert private.record({"/home/jo": ["/home/jo/y", 7, None]}) == {"~": ["~/y", 7, None]}


def test_a_line_of_the_log_has_no_times() -> None:
    assert line_without_times("[1/2] sqlite · ulid · binary16: 0.10 s, 99,456 rows/s") == (
        "[1/2] sqlite · ulid · binary16: ok"
    )
    assert line_without_times("[1/2] sqlite · ulid · binary16: FAILED: no result after 3 s.") == (
        "[1/2] sqlite · ulid · binary16: FAILED: no result after 3 s."
    )
