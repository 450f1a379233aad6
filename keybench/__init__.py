"""keybench: which primary-key layout a table should have, measured on real servers, page by page."""


def __getattr__(name: str) -> str:
    """`__version__`, read when it is asked for: to load what reads it takes longer than Python's own start."""
    if name != "__version__":
        raise AttributeError(f"module 'keybench' has no attribute {name!r}")
    from importlib.metadata import PackageNotFoundError, version

    try:
        return version("keybench")
    except PackageNotFoundError:  # a source tree that was never installed
        return "0+unknown"
