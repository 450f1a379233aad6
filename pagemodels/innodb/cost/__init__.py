"""What a load costs InnoDB: page reads and writes by its list of pages and its page cleaner, redo log."""
