"""Measurements around and after a load, in addition to those that an engine's probes read."""
