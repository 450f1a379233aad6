"""What every worker process needs, imported once in the fork server: a worker then starts in about 20 ms.

The fork server ends after its runner, however that ended, and then removes the runner's folder.
"""

import atexit
import gc

from keybench import locked_folder
from keybench.databases.registry import engines
from keybench.generators.core.layout import layouts
from keybench.runners.writers import reader, writer

READY = (engines(), layouts(), reader.read, writer.write)

gc.collect()
gc.freeze()  # workers are forked from this process: their garbage collector need not visit these objects

atexit.register(locked_folder.sweep_at_start)
