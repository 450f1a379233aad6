"""Kinds of `ServerTrial` that do a step in another way."""
