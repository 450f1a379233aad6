"""Servers on which the advised statements are run."""

from keybench.databases.contract_suite.servers import servers  # noqa: F401 (a fixture)
