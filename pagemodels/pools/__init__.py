"""What an index costs in page reads, by each engine's own rule of replacing pages in memory."""
