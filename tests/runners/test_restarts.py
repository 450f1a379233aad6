"""A server of somebody's own that is restarted, or goes silent, while a run works on it."""

import subprocess
import sys
import threading
import time
from contextlib import closing, suppress
from pathlib import Path

import psutil
import pytest

from keybench.databases.postgresql.connection import AdminConnection
from keybench.errors import EnvironmentMissing, RunStopped, UsageError
from keybench.results.store.records import Trial
from keybench.runners import servers
from keybench.runners.planning.trial_plan import Request
from keybench.runners.servers import RunServers
from keybench.scenarios.files import load_scenario
from tests.databases.waiting import wait_while
from tests.errors import raised
from tests.runners.conftest import Run, latest_trials, running

pytestmark = pytest.mark.usefixtures("variables")
WORK = ("--db", "postgresql", "--layout", "uuid-v4,uuid-v7", "--rows", "60000", "--blocks", "2")
GONE = "The server has ended its connections, or cannot be reached. --resume repeats this trial."


def url_of(parameters: dict[str, str]) -> str:
    return f"postgresql://keybench@/keybench?host={parameters['host']}&port={parameters['port']}"


def recorded(folder: Path) -> list[Trial]:
    with suppress(UsageError):  # before the file has been made
        return latest_trials(folder)
    return []


def run_servers(url: str) -> RunServers:
    request = Request(
        ("postgresql",), {"postgresql": url}, load_scenario("quick"), ("uuid-v4",), (), 1000, 1, "fast", 1, 60.0
    )
    return RunServers(request, {"postgresql": url}, lambda _: None)


@pytest.mark.long
def test_a_restart_fails_one_trial_at_most_and_resume_repeats_it(
    variables: dict[str, str], here: Run, tmp_path: Path
) -> None:
    with running("postgresql=embedded") as (target, provision):
        server = ("--server", url_of(dict(target.address.parameters)))
        run = subprocess.Popen(
            [sys.executable, "-m", "keybench.runners.run", *WORK, *server],
            cwd=tmp_path,
            env=variables,
            stdout=subprocess.PIPE,
            text=True,
        )
        with closing(AdminConnection(target.address)) as admin:
            sent = "SELECT count(*) FROM pg_class WHERE relname = 'keybench_rows' AND pg_relation_size(oid) > 1e6"
            wait_while(lambda: not recorded(tmp_path) or not admin.value(sent), 120)
        provision.restart()
        said, _ = run.communicate(timeout=240)
        trials = latest_trials(tmp_path)
        lost = [trial for trial in trials if trial.status == "error"]
        assert len(trials) == 6, said
        assert len(lost) == 1, said
        assert lost[0].error.endswith(GONE)
        assert run.returncode == 1
        done = here("--resume", "latest")
        assert (done.returncode, done.stderr) == (0, "")
        assert "6 trials in 2 blocks, 60,000 rows in each trial, 5 of them recorded already" in done.stdout
        again = latest_trials(tmp_path)
        assert [trial.status for trial in again] == ["ok"] * 6
        assert [(one.block, one.position) for one in again] == [(one.block, one.position) for one in trials]
        with closing(AdminConnection(target.address)) as admin:
            assert admin.value("SELECT count(*) FROM pg_class WHERE relname LIKE 'keybench%'") == 0


def test_a_run_waits_for_its_server_and_takes_its_lock_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(servers, "_ANSWERS", 30.0)
    with running("postgresql=embedded") as (target, provision):
        url = url_of(dict(target.address.parameters))
        with closing(run_servers(url)) as its:
            first = its.reach("postgresql")
            assert its.reach("postgresql") is first
            restart = threading.Timer(0.0, provision.restart)
            restart.start()
            restart.join()
            assert its.gone("postgresql") == "The server has ended its connections, or cannot be reached."
            assert its.reach("postgresql") is not first
            with pytest.raises(EnvironmentMissing, match="another run of keybench is using it"):
                run_servers(url).reach("postgresql")


@pytest.mark.long
def test_a_silent_server_stops_the_run_and_the_error_names_clean(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(servers, "_ANSWERS", 1.0)
    monkeypatch.setattr("keybench.databases.core.dbapi._PING_SECONDS", 1.0)
    with running("postgresql=embedded") as (target, _):
        parent = psutil.Process(
            int((Path(target.address.parameters["data"]) / "postmaster.pid").read_text().split()[0])
        )
        its = run_servers(url_of(dict(target.address.parameters)))
        its.reach("postgresql")
        everybody = [parent, *parent.children(recursive=True)]
        for process in everybody:
            with suppress(psutil.NoSuchProcess):  # a short-lived worker
                process.suspend()
        try:
            began = time.monotonic()
            with pytest.raises(RunStopped, match=r"^PostgreSQL has not answered for 1 s: start it, and go on\.$"):
                its.reach("postgresql")
            said = raised(EnvironmentMissing, its.close)
            assert said.endswith("when it answers, remove them by `keybench clean --server URL`.")
            assert time.monotonic() - began < 40
        finally:
            for process in everybody:
                with suppress(psutil.NoSuchProcess):
                    process.resume()
