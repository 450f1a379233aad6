"""The tables of a group."""
