"""Looking at an SQLite file that exists, without writing to it or beside it."""
