"""What is read from the files of a MariaDB or MySQL server: index pages and the redo log."""
