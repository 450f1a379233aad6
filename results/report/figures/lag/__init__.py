"""Figures of lag: several writers, or several keys per clock tick."""
