"""Compiled loops for keys in bulk, and when they are used."""
