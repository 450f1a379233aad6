"""How rows are packed for MariaDB and MySQL."""
