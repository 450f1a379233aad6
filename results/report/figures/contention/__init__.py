"""Figures of what writers do to one another."""
