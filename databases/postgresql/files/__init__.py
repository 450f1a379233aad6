"""What is read from the files of a PostgreSQL server: index pages and the write-ahead log."""
