"""The workflows start every database that keybench has, as its own containers do, and accept no licence."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
import yaml

from keybench.databases.engine import engines
from tests.test_compose import SERVICES

ROOT = Path(__file__).parent.parent
FILES = sorted((ROOT / ".github" / "workflows").glob("*.yml"))
TEXT = (ROOT / ".github" / "workflows" / "databases.yml").read_text(encoding="utf-8")
JOBS: dict[str, dict[str, Any]] = yaml.safe_load(TEXT)["jobs"]
IN_CONTAINERS = {on.name for on in engines().values() if "container" in on.servers}


def test_every_database_with_a_container_has_both_jobs() -> None:
    assert set(JOBS["containers"]["strategy"]["matrix"]["db"]) == IN_CONTAINERS
    assert {one["db"] for one in JOBS["services"]["strategy"]["matrix"]["include"]} == IN_CONTAINERS


@pytest.mark.parametrize("one", JOBS["services"]["strategy"]["matrix"]["include"], ids=lambda one: one["db"])
def test_a_service_container_is_that_of_the_compose_file(one: dict[str, Any]) -> None:
    service = SERVICES[one["db"]]
    assert one["image"] == service["image"]
    assert service["ports"][0].endswith(f":{one['port']}")
    assert one["url"].partition("://")[0] in engines()[one["db"]].url_schemes
    assert f":{one['port']}" in one["url"]
    password = next(name for name in service["environment"] if name.endswith("PASSWORD"))
    assert password in JOBS["services"]["services"]["database"]["env"]


def test_the_licence_is_a_variable_that_somebody_sets() -> None:
    given = re.findall(r"ACCEPT_EULA: (.*)", TEXT)
    assert set(given) == {"${{ vars.ACCEPT_EULA }}"}
    assert "vars.ACCEPT_EULA == 'Y'" in JOBS["services"]["services"]["database"]["image"]


def test_passwords_are_made_for_each_run() -> None:
    given = re.findall(r"\w*PASSWORD: (.*)", TEXT)
    assert set(given) == {"Kb-${{ github.run_id }}-${{ github.run_attempt }}"}


@pytest.mark.parametrize("job", JOBS)
def test_steps_use_commands_that_are_there(job: str) -> None:
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    steps = [step["run"] for step in JOBS[job]["steps"] if "run" in step]
    for step in steps:
        for target in re.findall(r"^make ([a-z-]+)", step, re.M):
            assert re.search(rf"^{target}:", makefile, re.M), target
        for module in re.findall(r"-m (\w+\.\w+)", step):
            assert (ROOT / f"{module.replace('.', '/')}.py").exists() or (ROOT / module.replace(".", "/")).is_dir()
    assert [step.split()[1] for step in steps[:2]] == ["env", "contract"]


def test_a_run_that_somebody_else_started_may_change_nothing() -> None:
    for path in FILES:
        assert yaml.safe_load(path.read_text(encoding="utf-8"))["permissions"] == {"contents": "read"}
