"""The kinds of trial, and what each does."""
