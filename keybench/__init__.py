"""keybench: which primary-key layout a table should have, measured on real servers, page by page."""

from importlib.metadata import PackageNotFoundError, version

try:
    __version__ = version("keybench")
except PackageNotFoundError:  # a source tree that was never installed
    __version__ = "0+unknown"
