"""What every worker process needs, imported once in the fork server: a worker then starts in about 20 ms."""

from __future__ import annotations

import gc

from keybench.databases.registry import engines
from keybench.generators.core.layout import layouts
from keybench.runners.writers import reader, writer

READY = (engines(), layouts(), reader.read_and_delete, writer.write)

gc.collect()
gc.freeze()  # workers are forked from this process: their garbage collector need not visit these objects
