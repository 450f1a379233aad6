"""The engines that can run in a container."""

from keybench.databases.registry import engines

HAVING = [on for on in engines().values() if "container" in on.servers]
