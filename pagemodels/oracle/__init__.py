"""The page model of Oracle."""
