"""Forecasts of indexes with more rows than are simulated, from the page models' own growth (docs/scaling.md)."""
