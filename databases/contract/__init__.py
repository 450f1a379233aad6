"""What an engine must provide: its declarations, its required roles, and the optional protocols."""
