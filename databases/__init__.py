"""Database engines, one folder each, behind the roles of `contract`."""
