"""The page model of InnoDB: MariaDB and MySQL."""
