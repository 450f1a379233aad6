"""keybench: which primary-key layout a table should have, measured on real servers, page by page."""

TYPE_CHECKING = False
if TYPE_CHECKING:
    __version__: str
else:

    def __getattr__(name: str) -> str:
        """`__version__`, read when it is asked for: that takes longer than all else before signals are heard."""
        if name != "__version__":
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        from importlib.metadata import PackageNotFoundError, version

        try:
            return version("keybench")
        except PackageNotFoundError:  # a source tree that was never installed
            return "0+unknown"
