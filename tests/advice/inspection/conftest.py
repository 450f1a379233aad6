"""Servers that live as long as the tests."""

from keybench.databases.contract_suite.servers import servers as servers
