"""What every worker needs, found and imported once in the fork server, so that a worker starts in some 20 ms."""

from __future__ import annotations

import gc

from keybench.databases.registry import engines
from keybench.generators.core.layout import layouts
from keybench.runners.writers import reader, writer

READY = (engines(), layouts(), reader.examine, writer.write)

gc.collect()
gc.freeze()  # workers are forked from here, and none need look for garbage among all this
