"""Servers that die during a run."""

import signal
import threading
import time
from contextlib import closing

import psutil

from keybench.runners.planning.trial_plan import Request
from keybench.runners.servers import RunServers
from keybench.scenarios.files import load_scenario


def test_a_dead_server_is_replaced_before_its_keeper_has_reported_the_death() -> None:
    scenario, profile = load_scenario("quick"), "fast"
    request = Request(
        ("postgresql",), {"postgresql": "embedded"}, scenario, ("uuid-v4",), (), 1000, 1, profile, 1, 60.0
    )
    with closing(RunServers(request, {}, lambda _: None)) as servers:
        first = servers.reach("postgresql")
        assert servers.reach("postgresql") is first
        keeper, server = _keeper_and_server()
        keeper.send_signal(signal.SIGSTOP)
        server.kill()
        began = time.monotonic()
        assert servers.gone("postgresql") == ""
        assert time.monotonic() - began < 1, "a private server never tells why it ended"
        threading.Timer(0.5, keeper.send_signal, [signal.SIGCONT]).start()
        second = servers.reach("postgresql")
        assert second.address != first.address
        second.engine.admin(second.address).close()


def _keeper_and_server() -> tuple[psutil.Process, psutil.Process]:
    for keeper in psutil.Process().children():
        for server in keeper.children():
            if any("folder_keeper" in part for part in keeper.cmdline()) and server.name() == "postgres":
                return keeper, server
    raise AssertionError("no private PostgreSQL server of this process runs")
