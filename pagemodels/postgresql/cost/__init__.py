"""What a load costs PostgreSQL: page reads by its rule of replacing pages in memory, page writes, log."""
