"""Servers that live as long as the tests."""

from keybench.testing.contract.servers import servers as servers
