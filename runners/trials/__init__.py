"""The kinds of trial."""
