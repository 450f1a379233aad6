"""Checks that a server accepts a connection for each writer, before anything is sent to it."""

from __future__ import annotations

from keybench.errors import UsageError
from keybench.runners.planning.trial_plan import Request
from keybench.runners.planning.trial_server import Target
from keybench.runners.writers.pool import LOCAL, WriterPool


def check(request: Request, target: Target, pool: WriterPool = LOCAL) -> None:
    """UsageError if the writers need more connections than the server has left."""
    writers = request.scenario.most_writers
    needed = request.scenario.connections * pool.connections_per_writer
    admin = target.engine.admin(target.address)
    try:
        left = admin.sessions_left()
    finally:
        admin.close()
    if left is not None and needed > left:
        number = "as many" if needed == writers else str(needed)
        raise UsageError(
            f"{writers} writers need {number} connections, and {target.engine.title} ({target.server}) accepts {left} "
            "more: use fewer writers, or raise its limits (max_connections, and the limit of its user)."
        )
