"""Looking at a PostgreSQL database that exists, in read-only transactions with short timeouts."""
