"""The page model of SQLite."""
