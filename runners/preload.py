"""What every worker needs, found and imported once in the fork server, so that a worker starts in some 20 ms."""

from __future__ import annotations

import gc

from keybench.databases.engine import engines
from keybench.generators.layout import layouts
from keybench.runners import after, writer

READY = (engines(), layouts(), after.examine, writer.write)

gc.collect()
gc.freeze()  # workers are forked from here, and none need look for garbage among all this
