"""Servers on which the advised statements are run."""

from keybench.testing.contract.servers import servers  # noqa: F401 (a fixture)
