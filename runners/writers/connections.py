"""Whether a server takes as many connections as there are writers, asked before anything is sent to it."""

from __future__ import annotations

from keybench.databases.capabilities import LimitsSessions
from keybench.errors import UsageError
from keybench.runners.planning.plan import Request
from keybench.runners.planning.target import Target
from keybench.runners.writers.crews import LOCAL, Crew


def check(request: Request, target: Target, crew: Crew = LOCAL) -> None:
    """UsageError where the scenario has more writers than the server has connections left."""
    writers = len(request.scenario.writer)
    wanted = writers * crew.connections
    admin = target.engine.admin(target.address)
    try:
        if not isinstance(admin, LimitsSessions):
            return
        left = admin.sessions_left()
    finally:
        admin.close()
    if wanted > left:
        number = "as many" if wanted == writers else str(wanted)
        raise UsageError(
            f"{writers} writers need {number} connections, and {target.engine.title} ({target.server}) takes {left} "
            "more: use fewer writers, or raise its limit (max_connections, and what its user may open)."
        )
