"""The versions that engines declare."""

import pytest

from keybench.databases.registry import engines


@pytest.mark.parametrize("name", engines())
def test_versions_are_declared_oldest_first_and_numbered_as_those_of_server_keys(name: str) -> None:
    on = engines()[name]
    numbers = list(on.versions.values())
    assert numbers == sorted(set(numbers))
    assert all(made.min_version <= numbers[-1] for made in on.server_keys)


def test_uuidv7_came_with_postgresql_18() -> None:
    on = engines()["postgresql"]
    (made,) = [made for made in on.server_keys if made.name == "server-uuidv7"]
    assert [text for text, number in on.versions.items() if number >= made.min_version] == ["18"]
