"""The workflows and docker-compose.yml start every database as keybench's own containers do; no licence is accepted."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml
from typer.main import get_command

from keybench.databases.hosting.container import BILLION
from keybench.databases.registry import engines
from keybench.model.url import parse
from keybench.results.bundle.reading import read_bundle
from keybench.results.check.baseline import load
from keybench.runners.verify.command import app
from tests.databases.containers import HAVING

ROOT = Path(__file__).parent.parent
FILES = sorted((ROOT / ".github" / "workflows").glob("*.yml"))
TEXT = (ROOT / ".github" / "workflows" / "databases.yml").read_text(encoding="utf-8")
JOBS: dict[str, dict[str, Any]] = yaml.safe_load(TEXT)["jobs"]
IN_CONTAINERS = {on.name for on in engines().values() if "container" in on.servers}


def test_every_database_with_a_container_has_both_jobs_and_a_service() -> None:
    assert set(JOBS["containers"]["strategy"]["matrix"]["db"]) == IN_CONTAINERS
    assert {one["db"] for one in JOBS["services"]["strategy"]["matrix"]["include"]} == IN_CONTAINERS
    assert set(SERVICES) == IN_CONTAINERS


@pytest.mark.parametrize("one", JOBS["services"]["strategy"]["matrix"]["include"], ids=lambda one: one["db"])
def test_a_url_leads_to_the_service_of_the_compose_file(one: dict[str, Any]) -> None:
    service, url = SERVICES[one["db"]], parse(one["url"])
    assert url.scheme in engines()[one["db"]].url_schemes
    ((host, port, _),) = [published.split(":") for published in service["ports"]]
    assert (url.hosts, url.password) == (f"{host}:{port}", "")
    (check,) = service["healthcheck"]["test"][-1:]
    assert re.search(rf"\b{url.user}\b", check), "the user whose logins make the server healthy"
    script = step("services", "Server")["run"].split()
    assert script[:6] == ["docker", "compose", "up", "--wait", "--wait-timeout", "600"]


def step(job: str, name: str) -> dict[str, Any]:
    (found,) = [one for one in JOBS[job]["steps"] if one.get("name") == name]
    return found


def test_the_licence_is_a_variable_that_somebody_sets() -> None:
    given = re.findall(r"^ +ACCEPT_EULA: (.*)", TEXT, re.M)
    assert set(given) == {"${{ vars.ACCEPT_EULA }}"}
    assert "accept-eula" not in TEXT
    for job in JOBS.values():
        assert job["env"]["WANTED"] == "${{ matrix.db != 'mssql' || vars.ACCEPT_EULA == 'Y' }}"
        for one in job["steps"]:
            made_here = str(one.get("uses", "")).startswith(("actions/checkout", "actions/setup-python"))
            assert made_here or "env.WANTED == 'true'" in one["if"]


def test_the_password_is_made_for_each_run_and_masked_before_anything_shows_it(tmp_path: Path) -> None:
    assert not re.findall(r"\w*PASSWORD: ", TEXT), "the environment of a step is shown in its log"
    names = [one.get("name") for one in JOBS["services"]["steps"]]
    assert names.index("Password") < names.index("Server")
    made = []
    for number in range(2):
        file = tmp_path / str(number)
        variables = {"PATH": os.environ["PATH"], "GITHUB_ENV": str(file)}
        done = subprocess.run(
            ["bash", "-e", "-c", step("services", "Password")["run"]],
            env=variables, capture_output=True, text=True, check=True,
        )  # fmt: skip
        ours, servers = (
            dict(line.split("=") for line in file.read_text(encoding="utf-8").splitlines())[name]
            for name in ("KEYBENCH_PASSWORD", "KEYBENCH_SERVER_PASSWORD")
        )
        assert ours == servers
        assert re.fullmatch(r"Kb1[0-9a-f]{24}", ours)  # which satisfies every server: see test_compose
        assert (done.stdout, done.stderr) == (f"::add-mask::{ours}\n", "")
        made.append(ours)
    assert made[0] != made[1]


@pytest.mark.parametrize("job", JOBS)
def test_steps_use_commands_that_are_there(job: str) -> None:
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    options = {option for one in get_command(app).params for option in one.opts}
    steps = [step["run"] for step in JOBS[job]["steps"] if "run" in step]
    asked = [words for step in steps for words in re.findall(r"bin/keybench (\w+)([^|]*)", step)]
    assert [command for command, _ in asked] == ["verify"]
    assert set(re.findall(r"--[a-z-]+", asked[0][1])) <= options
    targets = [target for step in steps for target in re.findall(r"\bmake (?:--[a-z-]+ )*([a-z]+)", step)]
    assert targets == {"containers": ["env", "contract", "fidelity"], "services": ["env", "contract"]}[job]
    assert all(re.search(rf"^{target}:", makefile, re.M) for target in targets)


@pytest.mark.parametrize("job", JOBS)
def test_what_a_step_writes_is_uploaded(job: str) -> None:
    written = {
        path for one in JOBS[job]["steps"] for path in re.findall(r"build/[a-z].*?\.(?:zip|txt)", one.get("run", ""))
    }
    (upload,) = [one for one in JOBS[job]["steps"] if "upload-artifact" in one.get("uses", "")]
    assert set(upload["with"]["path"].split("\n")) - {""} == written


ALL = {path.name: yaml.safe_load(path.read_text(encoding="utf-8")) for path in FILES}
STEPS = [
    pytest.param(job, step, id=f"{name}-{key}-{number}")
    for name, content in ALL.items()
    for key, job in content["jobs"].items()
    for number, step in enumerate(job["steps"])
]


def test_a_run_that_somebody_else_started_may_change_nothing() -> None:
    assert {"check.yml", "databases.yml"} <= set(ALL)
    for content in ALL.values():
        assert content["permissions"] == {"contents": "read"}
        assert "pull_request_target" not in content[True]  # YAML takes `on` for a truth value
        for job in content["jobs"].values():
            if content["name"] == "pages" and "permissions" in job:
                assert job["permissions"] == {"pages": "write", "id-token": "write"}
                assert set(content[True]) == {"push", "workflow_dispatch"}
                assert not any("run" in step for step in job["steps"]), "it runs nothing of the repository"
            elif "permissions" in job:
                assert job["permissions"] == {"pull-requests": "write"}
                assert "github.event.pull_request.head.repo.full_name == github.repository" in job["if"]
                assert not any("checkout" in step.get("uses", "") for step in job["steps"]), "code of the pull request"


@pytest.mark.parametrize(("job", "step"), STEPS)
def test_actions_are_pinned_and_nothing_foreign_is_written_into_scripts(
    job: dict[str, Any], step: dict[str, Any]
) -> None:
    if "uses" in step:
        assert re.fullmatch(r"actions/[a-z/-]+@[0-9a-f]{40}", step["uses"])
    else:
        written = re.findall(r"\$\{\{\s*(.*?)\s*\}\}", step["run"])
        assert all(re.fullmatch(r"matrix\.\w+", expression) for expression in written)
    assert job["timeout-minutes"] <= 90


GH = """#!/bin/sh
echo "$@" >> calls
case "$*" in *--paginate*) cat mine ;; *) cp body.md posted ;; esac
"""


@pytest.mark.parametrize(
    ("mine", "sent"), [("", "POST repos/o/r/issues/7/"), ("41\n", "PATCH repos/o/r/issues/comments/41")]
)
def test_a_pull_request_has_one_comment_that_is_kept_up_to_date(tmp_path: Path, mine: str, sent: str) -> None:
    """The workflow's own script, with a `gh` that writes down what it is asked for."""
    (script,) = [step["run"] for step in ALL["check.yml"]["jobs"]["comment"]["steps"] if "run" in step]
    (tmp_path / "gh").write_text(GH, encoding="utf-8")
    (tmp_path / "gh").chmod(0o755)
    (tmp_path / "mine").write_text(mine, encoding="utf-8")
    (tmp_path / "comment.md").write_text("### ✅ keybench: no regression\n" + "x" * 70_000, encoding="utf-8")
    variables = {"PATH": f"{tmp_path}:{os.environ['PATH']}", "REPOSITORY": "o/r", "NUMBER": "7"}
    subprocess.run(["bash", "-c", script], cwd=tmp_path, env=variables, check=True)
    listed, posted = (tmp_path / "calls").read_text(encoding="utf-8").splitlines()
    assert listed.startswith("api --paginate repos/o/r/issues/7/comments --jq .[] | select(")
    assert posted.startswith(f"api --method {sent}")
    body = (tmp_path / "posted").read_bytes()
    assert body.startswith("<!-- keybench check -->\n### ✅ keybench: no regression\n".encode())
    assert len(body) < 65_536
    (tmp_path / "comment.md").write_bytes(b"")
    (tmp_path / "calls").unlink()
    subprocess.run(["bash", "-c", script], cwd=tmp_path, env=variables, check=True)
    assert not (tmp_path / "calls").exists()


def test_the_servers_of_the_gate_are_those_with_containers_and_page_models() -> None:
    with_pages = {on.name for on in engines().values() if on.has_page_model}
    assert set(ALL["check.yml"]["jobs"]["live"]["strategy"]["matrix"]["db"]) == IN_CONTAINERS & with_pages


@pytest.mark.long
def test_the_page_models_give_what_the_baseline_has(tmp_path: Path) -> None:
    """The very commands of the job that every push runs."""
    steps = [step for step in ALL["check.yml"]["jobs"]["models"]["steps"] if "bin/keybench " in step.get("run", "")]
    commands = [step["run"] for step in steps if "pull_request" not in step.get("if", "")]
    assert [re.findall(r"bin/keybench (\w+)", command) for command in commands] == [["run"], ["check"]] * 2
    before = (ROOT / "results" / "check" / "models.json").read_bytes()
    summary = tmp_path / "summary.md"
    kept = {name: value for name, value in os.environ.items() if not name.startswith("KEYBENCH_")}
    variables = {**kept, "KEYBENCH_RESULTS": str(tmp_path / "results.sqlite"), "GITHUB_STEP_SUMMARY": str(summary)}
    for command in commands:
        line = command.replace(".venv/bin/keybench", f"{sys.executable} -m keybench")
        done = subprocess.run(
            ["bash", "-ec", line], cwd=ROOT, env=variables, capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, done.stdout + done.stderr
    counts = re.findall(r"no regression: (\d+) page counts compared, 0 metrics changed\.$", text(summary), re.M)
    assert len(counts) == 2
    assert min(map(int, counts)) >= 400
    assert (ROOT / "results" / "check" / "models.json").read_bytes() == before


def test_the_baseline_has_every_page_model() -> None:
    modelled = {on.name for on in engines().values() if on.has_page_model}
    assert len(modelled) >= 5
    groups = load(ROOT / "results" / "check" / "models.json").counts
    for scenario in ("two-million", "azure-lag"):
        of = [group for group in groups if group.work["scenario"] == scenario]
        assert {group.work["database"] for group in of} == modelled
        assert all(len({arm.layout for arm in group.arms}) >= 10 for group in of)


ACTION = yaml.safe_load((ROOT / "action.yml").read_text(encoding="utf-8"))


@pytest.mark.long
def test_the_action_gates_a_scenario_of_another_repository(tmp_path: Path) -> None:
    """Its steps run as GitHub would run them, in a folder that is no checkout of keybench; installing is left out."""
    tool, folder, summary = tmp_path / "bin" / "keybench", tmp_path / "theirs", tmp_path / "summary.md"
    folder.mkdir()
    tool.parent.mkdir()
    tool.write_text(f'#!/bin/sh\nexec {sys.executable} -m keybench "$@"\n', encoding="utf-8")
    tool.chmod(0o755)
    (folder / "keys.txt").write_text("".join(f"{n:032x}\n" for n in range(500)), encoding="utf-8")
    given = {name: one["default"] for name, one in ACTION["inputs"].items()} | {
        "db": "sqlite", "scenario": "quick", "layout": "uuid-v7", "keys": "keys.txt"
    }  # fmt: skip

    def run_steps() -> list[tuple[str, int]]:
        codes = []
        for step in ACTION["runs"]["steps"]:
            if "run" not in step or step["name"] == "Install":
                continue
            assert "${{" not in step["run"], "an input would be code"
            values = {
                name: re.sub(r"\$\{\{ inputs\.(\w+) \}\}", lambda found: given[found[1]], text)
                for name, text in step.get("env", {}).items()
            }
            variables = {**os.environ, **values, "GITHUB_STEP_SUMMARY": str(summary), "PYTHONPATH": str(ROOT)}
            variables["PATH"] = f"{tool.parent}:{os.environ['PATH']}"
            command = ["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", step["run"]]
            done = subprocess.run(command, cwd=folder, env=variables, capture_output=True, text=True, check=False)
            codes.append((step["name"], done.returncode))
        return codes

    assert run_steps() == [("Predict", 0), ("Report", 0), ("Check", 0)]
    assert "no baseline yet: commit keybench-baseline.json" in text(summary)
    assert "random" in text(folder / "keybench-report.html")
    baseline = folder / "keybench-baseline.json"
    changed = re.sub(r'"leaf_pages": (\d+)', lambda found: f'"leaf_pages": {int(found[1]) + 1}', text(baseline))
    baseline.write_text(changed, encoding="utf-8")
    assert run_steps()[-1] == ("Check", 1)
    assert "leaf_pages" in text(summary)


def text(path: Path) -> str:
    return path.read_text(encoding="utf-8")


@pytest.mark.long
def test_the_published_site_holds_bundles_that_fit() -> None:
    """What the workflow verifies and publishes, verified here too; the site stays modest."""
    steps = yaml.safe_load((ROOT / ".github" / "workflows" / "pages.yml").read_text(encoding="utf-8"))["jobs"]
    (upload,) = [one["with"] for one in steps["verify"]["steps"] if "upload-pages" in str(one.get("uses"))]
    example = ROOT / upload["path"]
    listed = json.loads((example / "site.json").read_text(encoding="utf-8"))["runs"]
    bundles = sorted(example.glob("runs/*/*.zip"))
    assert sorted(read_bundle(path).run.id for path in bundles) == sorted(listed)
    assert sum(path.stat().st_size for path in example.rglob("*")) < 10_000_000


COMPOSE = (ROOT / "docker-compose.yml").read_text(encoding="utf-8")
SERVICES: dict[str, dict[str, Any]] = yaml.safe_load(COMPOSE)["services"]


ASKED_FOR = "${KEYBENCH_SERVER_PASSWORD:?make one as docker-compose.yml says at its top}"


@pytest.mark.parametrize("name", [on.name for on in HAVING])
def test_a_service_agrees_with_the_container(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DOCKER_HOST", "unix:///nonexistent/docker.sock")
    monkeypatch.setenv("ACCEPT_EULA", "Y")
    monkeypatch.setattr("os.cpu_count", lambda: 8)
    monkeypatch.setattr("psutil.virtual_memory", lambda: type("Memory", (), {"total": 64 << 30}))
    on, service = engines()[name], dict(SERVICES[name])
    made = on.provision("container", on.settings("durable", "default"))
    built = made.arguments()
    assert service.pop("image") == built["image"]
    assert service.pop("command", []) == built["command"]
    ((port, address),) = built["ports"].items()
    assert address == ("127.0.0.1",)
    (published,) = service.pop("ports")
    assert re.fullmatch(rf"127\.0\.0\.1:\d+:{port.removesuffix('/tcp')}", published)
    environment = dict(service.pop("environment"))
    secret = made._recipe.password_variable
    assert environment.pop(secret) == ASKED_FOR
    asked = {variable for variable, value in environment.items() if value.startswith("${")}  # the licence
    assert set(environment) == set(built["environment"]) - {secret}
    assert all(environment[variable] == built["environment"][variable] for variable in set(environment) - asked)
    assert asked <= {"ACCEPT_EULA"}
    given = {name: built[name] for name in ("mem_limit", "memswap_limit", "nano_cpus")}
    assert given == {
        "mem_limit": _bytes(service.pop("mem_limit")),
        "memswap_limit": _bytes(service.pop("memswap_limit")),
        "nano_cpus": service.pop("cpus") * BILLION,
    }
    health = dict(service.pop("healthcheck"))
    health["test"] = [part.replace("$$", "$") for part in health["test"]]
    seconds = {what: int(health[what].removesuffix("s")) * BILLION for what in ("interval", "timeout", "start_period")}
    assert {**health, **seconds} == built["healthcheck"]
    assert service == {}, "nothing that the container does not have"


def test_ports_differ_and_no_password_is_in_the_file() -> None:
    ports = [service["ports"][0] for service in SERVICES.values()]
    assert len(set(ports)) == len({port.rpartition(":")[0] for port in ports}) == len(ports)
    given = [line.strip().partition(": ")[2] for line in COMPOSE.splitlines() if re.match(r" +\w*PASSWORD\w*: ", line)]
    assert given == [ASKED_FOR] * len(SERVICES)


def test_a_health_check_is_a_login_with_the_password() -> None:
    for name, service in SERVICES.items():
        (password,) = [variable for variable in service["environment"] if variable.endswith("PASSWORD")]
        assert f'"$${password}"' in service["healthcheck"]["test"][-1], name


def test_the_password_that_people_are_told_to_make_satisfies_every_service(tmp_path: Path) -> None:
    (told,) = re.findall(r"^#   (echo .*> \.env)", COMPOSE, re.M)
    subprocess.run(["sh", "-c", told], cwd=tmp_path, check=True)
    variable, _, password = (tmp_path / ".env").read_text().strip().partition("=")
    assert variable == "KEYBENCH_SERVER_PASSWORD"
    # SQL Server: 8 characters and more, of three kinds. Oracle: a letter first, and 30 bytes at most.
    assert all(re.search(kind, password) for kind in ("[A-Z]", "[a-z]", "[0-9]"))
    assert re.fullmatch(r"[A-Za-z][A-Za-z0-9]{19,29}", password)


def _bytes(size: str) -> int:
    assert size.endswith("g")
    return int(size.removesuffix("g")) << 30
