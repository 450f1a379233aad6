"""The page model of PostgreSQL."""
