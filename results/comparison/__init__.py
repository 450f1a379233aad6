"""The comparison of arms behind `check`, `compare` and `claims`: conditions, changes over blocks, and tables."""
