"""Looking at a MariaDB or MySQL database that exists, in read-only transactions with short timeouts."""
