"""Database engines: one folder each, behind the contract in `engine`."""
