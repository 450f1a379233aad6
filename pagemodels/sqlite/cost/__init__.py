"""What a load costs SQLite: page reads by its page cache's rule, frames of the WAL, pages that checkpoints copy."""
