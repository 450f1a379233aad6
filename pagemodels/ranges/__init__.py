"""A table that a cluster divides into ranges of keys: which ranges a load writes, and when they split."""
